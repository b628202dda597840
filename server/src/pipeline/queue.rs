//! Calls that wait for a device that is not connected. They are stored, survive a restart, and are
//! evaluated again when the device is back: under the policy and with the caller's permissions of that
//! moment.

mod deliver;
mod expire;

use orion_domain::{CallState, DeviceId, ErrorCode, Hint, ToolError};

use super::Pipeline;
use super::call::{CallContext, Origin};
use super::view::CallView;
use crate::bus::Change;
use crate::store::QueueError;

pub(super) use deliver::serve;
pub use expire::expire;

/// Returns whether a call may wait for its device, which is not connected.
pub(super) fn may_queue(pipeline: &Pipeline, context: &CallContext) -> bool {
    let is_step = matches!(context.origin, Origin::PlanStep { .. });
    // The steps that follow would have to wait as well, and a preview is for this moment.
    !is_step && !context.is_preview() && pipeline.config.queue_time(&context.request).is_some()
}

/// Returns whether the backend made this error because the device is not connected.
pub(super) fn is_away(pipeline: &Pipeline, device: DeviceId, error: &ToolError) -> bool {
    error.code == ErrorCode::DeviceOffline && !pipeline.fleet.is_online(device)
}

/// Returns the error for a call that would wait when the limit of waiting calls is reached.
pub(super) fn no_room(pipeline: &Pipeline, view: &CallView, full: QueueError) -> ToolError {
    let device = view.device.as_ref().map(ToString::to_string).unwrap_or_default();
    let limits = pipeline.config.queue_limits();
    let message = if full == QueueError::PersonFull {
        format!(
            "{device} is not connected, and {} has the maximum of {} waiting calls.",
            view.caller.user, limits.per_person
        )
    } else {
        format!("{device} is not connected, and its queue is full ({} calls).", limits.per_device)
    };
    ToolError::new(ErrorCode::ResourceExhausted, message)
        .hint(Hint::run("cancel some calls, or try again later", "orion calls list --open"))
}

/// Publishes a queued call and returns its view for the caller.
pub(super) fn waiting(pipeline: &Pipeline, device: DeviceId, view: CallView) -> CallView {
    tracing::info!(call = %view.call, tool = %view.tool, "a call waits for its device");
    pipeline.bus.publish(Change::CallMoved(view.call));
    // The device may have connected while the call was stored.
    if let Some(link) = pipeline.fleet.link(device) {
        link.wake();
    }
    describe(view)
}

/// Returns the view of a queued call, with the error that explains the wait.
pub(super) fn describe(view: CallView) -> CallView {
    let name = view.device.as_ref().map(ToString::to_string).unwrap_or_default();
    let call = view.call;
    let error = ToolError::new(
        ErrorCode::DeviceOffline,
        format!(
            "{name} is not connected. The call is queued. It is evaluated again and sent when the device connects."
        ),
    )
    .hint(Hint::run("stop the call", format!("orion calls cancel {call}")))
    .with("queued_until", view.queued_until);
    let closing = view.closing(error);
    CallView { state: CallState::Queued, result: closing.result, approval: None, ..view }
}

/// Returns the error for a call that needed no approval when it was made, and needs one now.
pub(super) fn needs_a_person() -> ToolError {
    ToolError::new(ErrorCode::ApprovalExpired, "This call needs approval now. It did not run.")
        .hint("run it again to request approval")
}
