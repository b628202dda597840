//! `RefuseEnrollment`: turns the device that shows a code away.

use orion_wire::v1;
use tonic::Status;

use super::{DeviceApi, to_proto};
use crate::fleet::enrollment::by_code::refuse;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Turns the device with this code away. It is told so, and the code finds nothing any more.
pub(super) async fn refuse_enrollment(
    api: &DeviceApi,
    request: Signed<v1::RefuseEnrollmentRequest>,
) -> Result<v1::RefuseEnrollmentResponse, Status> {
    let Signed { identity, message } = request;
    let v1::RefuseEnrollmentRequest { code } = message;
    let refused = refuse(&api.enrollment, &identity.caller, &code).await;
    let view = refused.map_err(status::enrollment_code)?;
    Ok(v1::RefuseEnrollmentResponse { enrollment: Some(to_proto::pending_enrollment(view)) })
}
