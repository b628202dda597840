//! `RequestEnrollment`: a device without a token asks to be let in.

use orion_wire::v1;
use tonic::{Request, Status};

use super::EnrollmentApi;
use crate::fleet::enrollment::by_code::{Asked, Asking, request as ask};
use crate::listen::Source;
use crate::rpc::{signed, status};

/// Keeps the request of a device that shows a code, and returns the code. Nobody has vouched for the device yet: what
/// it says is shown to the admin who types the code, and to nobody else.
pub(super) fn request_enrollment(
    api: &EnrollmentApi,
    request: Request<v1::RequestEnrollmentRequest>,
) -> Result<v1::RequestEnrollmentResponse, Status> {
    let address = signed::address(&request)?;
    // A device that is enrolled may not have places of its own beside those of its address.
    let source = Source::of_address(address);
    let v1::RequestEnrollmentRequest {
        certificate_request,
        commitment,
        authority,
        suggested_name,
        hostname,
        os,
        arch,
        agent_version,
    } = request.into_inner();
    let asking = Asking {
        certificate_request,
        commitment,
        authority,
        suggested_name,
        hostname,
        os,
        arch,
        agent_version,
        address,
        source,
    };
    let asked = ask(&api.enrollment, asking).map_err(status::enrollment_code)?;
    let Asked { request_id, code, nonce, expires_in_seconds } = asked;
    Ok(v1::RequestEnrollmentResponse {
        request_id: request_id.to_string(),
        code: code.to_string(),
        nonce: nonce.to_vec().into(),
        expires_in_seconds,
    })
}
