//! The statuses for answers to approval requests, and for plans.

use orion_domain::{ErrorCode, Hint, PlanId, ToolError};
use orion_wire::status_from;
use tonic::Status;

use super::{hinted, store};
use crate::pipeline::confirm::AnswerError;
use crate::pipeline::plan::PlanError;
use crate::store::{ApprovalState, DecideError, DecidePlanError, StoreError};

/// The most characters of an id in a hint: those of a whole one.
const MAX_ID_CHARS: usize = 36;

/// The status for an approval request that cannot be decided. `approval` is its id as the person wrote it, `card` the
/// address of its card on the page.
pub(crate) fn answer(error: AnswerError, approval: &str, card: &str) -> Status {
    let approval: String = approval.chars().take(MAX_ID_CHARS).collect();
    let (code, hint) = match &error {
        AnswerError::Ambiguous => (ErrorCode::InvalidArgument, Some("give more of the id".into())),
        AnswerError::Rule(_) => (ErrorCode::PreconditionFailed, None),
        AnswerError::Changed(why) | AnswerError::Outdated(why) | AnswerError::Held(why) => {
            (why.code, why.hints.first().cloned())
        }
        AnswerError::Vote(error) => {
            let command = |verb: &str| format!("orion approvals {verb} {approval}");
            (code_of(error), Some(hint_of(error, card, command)))
        }
    };
    let mut refused = super::error(code, &error);
    refused.hints.extend(hint);
    status_from(&refused)
}

/// Returns what the person can do. `card` is where the page shows what is decided, `command` the command
/// for it with a verb such as `show`.
fn hint_of(error: &DecideError, card: &str, command: impl Fn(&str) -> String) -> Hint {
    match error {
        DecideError::NotFound => {
            Hint::run("list the open approval requests", "orion approvals list")
        }
        DecideError::Expired => "make the call again to request approval".into(),
        DecideError::ReasonMissing => {
            Hint::run("say why", format!("{} --reason \"…\"", command("approve")))
        }
        DecideError::TooManyRules => {
            Hint::run("end rules that are not needed", "orion approvals rules revoke")
        }
        DecideError::PartOfPlan(plan) => {
            Hint::run("read the plan", format!("orion plan show {plan}"))
        }
        DecideError::OverBudget(_) => {
            "another person can approve it, or you can when some time has passed".into()
        }
        DecideError::PasskeyMissing => Hint::new(format!("approve it on the page: {card}")),
        DecideError::OtherSigned | DecideError::OtherPaths => {
            "read the request again, then approve it".into()
        }
        DecideError::PasskeyGone => Hint::new(format!("approve it again on the page: {card}")),
        DecideError::Store(_) => {
            Hint::run("see whether the answer counts", "orion approvals list --all")
        }
        DecideError::AlreadyDecided(ApprovalState::Withdrawn | ApprovalState::Expired) => {
            Hint::run("see which call it was, and why it ended", command("show"))
        }
        DecideError::AlreadyDecided(_) => {
            Hint::run("see who decided, and which call it is", command("show"))
        }
        DecideError::AlreadyVoted | DecideError::OwnCall(_) | DecideError::Role { .. } => {
            Hint::run("let another person see what waits", "orion approvals list")
        }
        DecideError::OnlyOnce(_) => {
            "approve this call alone, without a rule and not for the chat".into()
        }
        DecideError::RuleTime => "give the rule a time that ends in the next 90 days".into(),
    }
}

const fn code_of(error: &DecideError) -> ErrorCode {
    match error {
        DecideError::NotFound => ErrorCode::NotFound,
        DecideError::AlreadyDecided(_)
        | DecideError::AlreadyVoted
        | DecideError::ReasonMissing
        | DecideError::OnlyOnce(_)
        | DecideError::RuleTime
        | DecideError::OtherSigned
        | DecideError::OtherPaths
        | DecideError::PasskeyGone
        | DecideError::PartOfPlan(_) => ErrorCode::PreconditionFailed,
        DecideError::Expired => ErrorCode::ApprovalExpired,
        DecideError::Role { .. } | DecideError::OwnCall(_) | DecideError::PasskeyMissing => {
            ErrorCode::PermissionDenied
        }
        DecideError::OverBudget(_) => ErrorCode::RateLimited,
        DecideError::TooManyRules => ErrorCode::ResourceExhausted,
        // Another answer was first.
        DecideError::Store(StoreError::Conflict) => ErrorCode::PreconditionFailed,
        DecideError::Store(_) => ErrorCode::Internal,
    }
}

/// The status for a plan that cannot be created.
pub(crate) fn plan(error: PlanError) -> Status {
    match error {
        PlanError::Store(error) => store(error),
        PlanError::Plan(error) => status_from(&error),
        PlanError::Step { number, tool, device, error } => {
            let place: String = format!("{tool} on {device}").chars().take(160).collect();
            let message = format!("Step {number} ({place}): {}", error.message);
            let error = ToolError { message, ..*error };
            status_from(&error.with("step", number))
        }
    }
}

/// The status for a plan that cannot be decided. `card` is its address on the page.
pub(crate) fn decide_plan(plan: PlanId, error: DecidePlanError, card: &str) -> Status {
    match error {
        DecidePlanError::Store(error) => store(error),
        DecidePlanError::NotFound => hinted(
            ErrorCode::NotFound,
            "there is no such plan",
            Hint::run("list the open plans", "orion plan list"),
        ),
        DecidePlanError::OtherHash => hinted(
            ErrorCode::PreconditionFailed,
            "the hash is of another plan, so nothing was decided",
            Hint::run("read the plan again", format!("orion plan show {plan}")),
        ),
        DecidePlanError::NotOpen(state) => hinted(
            ErrorCode::PreconditionFailed,
            format!("this plan is {} already", state.as_str()),
            Hint::run("read what became of it", format!("orion plan show {plan}")),
        ),
        DecidePlanError::Expired => hinted(
            ErrorCode::ApprovalExpired,
            "this plan has expired",
            "make the plan again to request approval",
        ),
        DecidePlanError::Outdated(step) => {
            let ended = super::error(ErrorCode::ApprovalExpired, DecidePlanError::Outdated(step));
            let ended = ended.hint("make the plan again to request approval").with("step", step);
            status_from(&ended.with("plan_id", plan.to_string()))
        }
        DecidePlanError::NotRequester => {
            let hint = "its requester approves it, and an operator or an admin can deny it";
            let message = "only the person who asked for the plan can do this";
            hinted(ErrorCode::PermissionDenied, message, hint)
        }
        DecidePlanError::Step { number, error } => {
            let clause = format!("step {number}: {error}. Nothing of the plan was answered");
            let mut refused = super::error(code_of(&error), clause).with("step", number);
            let command = |verb: &str| format!("orion plan {verb} {plan}");
            refused.hints.push(hint_of(&error, card, command));
            status_from(&refused.with("plan_id", plan.to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_as_many_rules_hold_as_may_that_is_a_limit_and_not_a_state() {
        let status = answer(DecideError::TooManyRules.into(), "", "");
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        assert!(status.message().contains("maximum of 200 rules"), "{status:?}");
        let hints = orion_wire::tool_error_from(&status).unwrap().hints;
        assert_eq!(hints[0].command.as_deref(), Some("orion approvals rules revoke"));
    }
}
