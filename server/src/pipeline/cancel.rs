//! A person stops a call. One that was not sent ends here and now; one that was sent is its
//! device's to stop, which says what became of it.

use orion_domain::{CallState, Caller, ErrorCode, ToolError};
use serde_json::json;

use super::{CallView, audit};
use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::fleet::ToDevice;
use crate::store::{CallRow, ClosedBy, StoreError};

/// Stops a call, and tells where it is now. A call that has ended stays as it is.
///
/// # Errors
/// The record cannot be kept.
pub async fn cancel(backend: &Backend, by: &Caller, call: CallRow) -> Result<CallView, StoreError> {
    // A step that waits ends with its plan, and not by itself.
    let waits_with_plan = call.plan.is_some() && call.state == CallState::AwaitingApproval;
    let is_over = call.state.is_closed() && call.state != CallState::Unknown;
    if is_over || waits_with_plan {
        return Ok(CallView::from(call));
    }
    let (id, device) = (call.id, call.device.as_ref().map(|(id, _)| *id));
    backend.store.audit_call_event("cancel.asked", id, json!({"by": by.user}), now_ms()).await?;
    if let Some(question) = backend.store.withdraw_approval(id, now_ms()).await? {
        backend.bus.publish(Change::Approval(question.id, id));
    }
    // A person may have approved it in this very moment: either this finds it unsent and it is
    // never sent, or it was sent and its record must say what the device did.
    let error = ToolError::new(
        ErrorCode::Cancelled,
        format!("{} cancelled this call before it was sent.", by.user),
    );
    let close = audit::closing(&CallView::from(call), error);
    if backend.store.close_call(close, ClosedBy::BackendUnsent).await? {
        backend.bus.publish(Change::CallClosed(id));
    } else if !backend.fleet.waiting().stop(id)
        && let Some(device) = device
    {
        // Nobody waits for it any more; where its device is there it may still run.
        backend.fleet.notify(device, ToDevice::Cancel(id));
    }
    backend.store.call(&id.to_string()).await.map(CallView::from)
}
