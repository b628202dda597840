//! The approval step: a call that needs approval gets an approval request. Enough approvals become a permit
//! for exactly that call, once.

mod answer;
mod approved;
pub(super) mod change;
mod habits;
mod request;
pub(super) mod standing;

use orion_domain::{Actor, ApprovalId, CallState, ErrorCode, Hint, ToolError};

use super::authorize::EvaluatedCall;
use super::view::CallView;
use crate::store::AskError;

pub use answer::{AnswerError, AnswerResult, AnswerScope, ApprovalAnswer, decide};
pub use approved::{SeenRequests, end_outdated, expire, resume_approved};
pub(super) use approved::{not_spent, run_approved, still_holds};
pub(super) use habits::budget;
pub use habits::{ApproverHabits, habits};
pub(super) use request::{card, expires_at, preapproved, question, request};
pub use standing::{Coverage, MAX_RULE_MS, coverage, revoke_rule};

/// Returns the view of a call that waits for its approval.
pub(super) fn waiting(
    evaluated: &EvaluatedCall,
    mut view: CallView,
    (id, expires_at): (ApprovalId, i64),
) -> CallView {
    let mut error =
        evaluated.refusal().with("approval_id", id.to_string()).with("expires_at", expires_at);
    let reason = if evaluated.approvers().reason { " --reason \"…\"" } else { "" };
    // The evaluator names who must approve, and does not know the request.
    for hint in error.hints.iter_mut().filter(|hint| hint.who == Actor::Approver) {
        hint.command = match evaluated.context.plan() {
            // No command signs.
            _ if evaluated.approvers().passkey => None,
            Some(plan) => Some(format!("orion plan approve {plan}{reason}")),
            None => Some(format!("orion approvals approve {id}{reason}")),
        };
    }
    let waiting = view.closing(error);
    view.state = CallState::AwaitingApproval;
    view.result = waiting.result;
    view.approval = Some(id);
    view
}

/// Returns the error for a call that nobody is asked about, because too many requests are open.
pub(super) fn no_room(full: AskError) -> ToolError {
    ToolError::new(
        ErrorCode::ResourceExhausted,
        format!("A person must approve this call, and no request was made: {full}."),
    )
    .hint(Hint::run("answer or cancel some requests, then try again", "orion approvals list"))
}
