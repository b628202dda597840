//! `Enroll`: a device asks to be let in.

use orion_domain::Secret;
use orion_wire::v1;
use tonic::{Request, Status};

use super::{EnrollmentApi, to_proto};
use crate::fleet::enrollment::{Applicant, enroll as enroll_device};
use crate::rpc::{signed, status};

/// Redeems an enrollment token with a certificate request. The token's secret is the proof, so nobody signs
/// in. Returns the certificate at once if the token was preapproved; otherwise the device waits for approval
/// and asks again with its ticket. The same request again has the same answer.
pub(super) async fn enroll(
    api: &EnrollmentApi,
    request: Request<v1::EnrollRequest>,
) -> Result<v1::EnrollResponse, Status> {
    let address = signed::address(&request)?;
    let v1::EnrollRequest {
        invite_id,
        secret,
        certificate_request,
        suggested_name,
        hostname,
        os,
        ticket,
        arch,
    } = request.into_inner();
    let applicant = Applicant {
        invite_id: invite_id.parse().map_err(status::invalid)?,
        secret: Secret::new(secret),
        ticket: (!ticket.is_empty()).then(|| Secret::new(ticket)),
        certificate_request,
        suggested_name,
        hostname,
        os,
        arch,
        address,
    };
    let admission = enroll_device(&api.enrollment, applicant).await.map_err(status::enroll)?;
    Ok(v1::EnrollResponse {
        device_id: admission.id.to_string(),
        device_name: admission.name.to_string(),
        certificate: admission
            .certificate
            .map(|issued| to_proto::certificate(&api.enrollment, issued)),
        ticket: admission.ticket.expose().to_owned(),
        fingerprint_words: admission.fingerprint_words,
    })
}
