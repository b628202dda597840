//! `AwaitConfirmation`: whether an admin confirmed a device that asked.

use orion_wire::v1;
use tonic::Status;

use super::EnrollmentApi;
use crate::fleet::enrollment::by_code::{RequestState, state};
use crate::rpc::status;

/// Returns what became of a request. The secret that the device committed to is the proof that it is its own.
pub(super) fn await_confirmation(
    api: &EnrollmentApi,
    message: v1::AwaitConfirmationRequest,
) -> Result<v1::AwaitConfirmationResponse, Status> {
    let v1::AwaitConfirmationRequest { request_id, secret } = message;
    let id = request_id.parse().map_err(status::invalid)?;
    let state = match state(&api.enrollment, id, &secret).map_err(status::enrollment_code)? {
        RequestState::Waiting | RequestState::Confirming(_) => v1::ConfirmationState::Waiting,
        RequestState::Confirmed(_) => v1::ConfirmationState::Confirmed,
        RequestState::Refused(_) => v1::ConfirmationState::Refused,
    };
    Ok(v1::AwaitConfirmationResponse { state: state.into() })
}
