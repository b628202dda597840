//! `GetEnrollment`: whether a device was let in.

use orion_wire::v1;
use tonic::Status;

use super::{EnrollmentApi, to_proto};
use crate::fleet::enrollment::status as enrollment_status;
use crate::rpc::status;
use crate::store::DeviceState;

/// Returns whether a device that enrolled was approved, and its certificate once it was. The ticket of the
/// enrollment is the proof.
pub(super) async fn get_enrollment(
    api: &EnrollmentApi,
    message: v1::GetEnrollmentRequest,
) -> Result<v1::GetEnrollmentResponse, Status> {
    let v1::GetEnrollmentRequest { device_id, ticket } = message;
    let found = enrollment_status(&api.enrollment, &device_id, &ticket).await;
    let (row, issued) = found.map_err(status::enroll)?;
    let state = match row.state {
        DeviceState::Pending | DeviceState::Quarantined => v1::EnrollmentState::Pending,
        DeviceState::Approved => v1::EnrollmentState::Approved,
        DeviceState::Rejected | DeviceState::Revoked => v1::EnrollmentState::Rejected,
    };
    Ok(v1::GetEnrollmentResponse {
        state: state.into(),
        certificate: issued.map(|issued| to_proto::certificate(&api.enrollment, issued)),
        device_name: row.name.to_string(),
    })
}
