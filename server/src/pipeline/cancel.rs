//! Cancels a call. A call that was not sent ends at once. For a sent call the device receives a cancel and
//! reports the outcome.

use orion_domain::{CallId, CallState, Caller, DeviceId, ErrorCode, ToolError, UserName};

use super::view::CallView;
use super::{Pipeline, audit};
use crate::bus::Change;
use crate::clock::now_ms;
use crate::store::{CallRow, StoreError};

/// Cancels a call and returns its state. A call that has ended is not changed.
///
/// # Errors
/// The database cannot be written.
pub async fn cancel(
    pipeline: &Pipeline,
    by: &Caller,
    call: CallRow,
) -> Result<CallView, StoreError> {
    let message = format!("{} cancelled this call before it was sent.", by.user);
    end(pipeline, &by.user, call, message).await
}

/// Cancels a call as [`cancel`] does. A call that was not sent ends with this message.
pub(super) async fn end(
    pipeline: &Pipeline,
    by: &UserName,
    call: CallRow,
    message: String,
) -> Result<CallView, StoreError> {
    // A step that waits for approval ends with its plan, not alone.
    let waits_with_plan = call.plan.is_some() && call.state == CallState::AwaitingApproval;
    let is_over = call.state.is_closed() && call.state != CallState::Unknown;
    if is_over || waits_with_plan {
        return Ok(CallView::from(call));
    }
    let id = call.id;
    let device = call.device.as_ref().map(|(id, _)| *id);
    pipeline.store.request_cancel(id, by, now_ms()).await?;
    if let Some(question) = pipeline.store.withdraw_approval(id, now_ms()).await? {
        pipeline.bus.publish(Change::Approval(question.id, id));
    }
    // A person may approve the call at this moment. Either it is closed unsent here and never sent, or it
    // was sent and its result must come from the device.
    let error = ToolError::new(ErrorCode::Cancelled, message);
    if !audit::close_unsent(pipeline, &CallView::from(call), error).await? {
        send_cancel(pipeline, id, device);
    }
    pipeline.store.call(id).await.map(CallView::from)
}

/// Tells the device of a call that was sent to end it.
pub(super) fn send_cancel(pipeline: &Pipeline, call: CallId, device: Option<DeviceId>) {
    if !pipeline.fleet.waiting().stop(call)
        && let Some(device) = device
    {
        // No task waits for the call, but a connected device may still run it.
        pipeline.fleet.cancel(device, call);
    }
}
