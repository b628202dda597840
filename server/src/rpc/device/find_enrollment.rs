//! `FindEnrollment`: the device that shows a code.

use orion_wire::v1;
use tonic::Status;

use super::{DeviceApi, to_proto};
use crate::fleet::enrollment::by_code::find;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Returns the device that shows this code and asks to be enrolled. A wrong code counts against the person.
pub(super) async fn find_enrollment(
    api: &DeviceApi,
    request: Signed<v1::FindEnrollmentRequest>,
) -> Result<v1::FindEnrollmentResponse, Status> {
    let Signed { identity, message } = request;
    let v1::FindEnrollmentRequest { code } = message;
    let found = find(&api.enrollment, &identity.caller, &code).await;
    let view = found.map_err(status::enrollment_code)?;
    Ok(v1::FindEnrollmentResponse { enrollment: Some(to_proto::pending_enrollment(view)) })
}
