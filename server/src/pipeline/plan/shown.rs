//! Whether a step of a plan is still the call that was shown.

use orion_domain::{ErrorCode, ToolError};

use crate::pipeline::authorize::EvaluatedCall;
use crate::store::StepRow;

/// Returns whether a step is still the call that was shown.
pub(in crate::pipeline) fn is_as_shown(evaluated: &EvaluatedCall, step: &StepRow) -> bool {
    evaluated.parsed.arguments.as_bytes() == step.arguments
        && evaluated.touches() == step.touches
        && evaluated.target.device.policy.version == step.policy_version
}

/// Returns the error for a step that is not the call that was shown.
pub(in crate::pipeline) fn another() -> ToolError {
    ToolError::new(
        ErrorCode::ApprovalExpired,
        "The step did not run: the permissions, paths or rules of the device, or the requester's role, changed since the plan was made.",
    ).hint("make the plan again to request approval")
}
