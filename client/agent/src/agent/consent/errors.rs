//! The errors of calls that waited for the person at the device.

use orion_domain::{Actor, ErrorCode, Hint, ToolError};

/// Returns the error for a call that the person did not allow.
pub(super) fn denied(by: &str) -> ToolError {
    let message = format!("Nothing was run: {by} did not allow this call at the device.");
    ToolError::new(ErrorCode::ApprovalRejected, message).with("layer", "consent")
}

/// Returns the error for a call about which nobody answered.
pub(super) fn nobody() -> ToolError {
    let message =
        "Nothing was run: the person at the device did not answer in time, and no answer is no.";
    ToolError::new(ErrorCode::ApprovalExpired, message).with("layer", "consent").hint(
        Hint::run("answer at the device when the call is made again", "orion-agent watch")
            .by(Actor::Owner),
    )
}

/// Returns the error for a call about which the person could not be asked, or whose answer does not count.
pub(super) fn unusable(why: &str) -> ToolError {
    let message = format!("Nothing was run: the person at the device could not be asked: {why}.");
    ToolError::new(ErrorCode::ApprovalExpired, message).with("layer", "consent")
}

/// Returns the error for a call that means something else since the person was asked.
pub(super) fn changed() -> ToolError {
    let message = "Nothing was run: since the person at the device was asked, the call means other paths than were shown.";
    ToolError::new(ErrorCode::PreconditionFailed, message)
        .with("reason", "drift")
        .hint("make the call again")
}

/// Returns the error for a call that a person cancelled while it waited.
pub(in crate::agent) fn cancelled() -> ToolError {
    let message = "The call was cancelled while it waited for the person at the device.";
    ToolError::new(ErrorCode::Cancelled, message)
}
