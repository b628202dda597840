//! The statuses for answers to approval requests, and for plans.

use orion_domain::{ErrorCode, PlanId, ToolError};
use orion_wire::status_from;
use tonic::Status;

use super::{capital, store, with};
use crate::pipeline::confirm::AnswerError;
use crate::pipeline::plan::PlanError;
use crate::store::{DecideError, DecidePlanError};

/// The status for an approval request that cannot be decided.
pub(crate) fn answer(error: AnswerError) -> Status {
    let code = match &error {
        AnswerError::Ambiguous => ErrorCode::InvalidArgument,
        AnswerError::Rule(_) => ErrorCode::PreconditionFailed,
        AnswerError::Changed(why) => why.code,
        AnswerError::Vote(error) => code_of(error),
    };
    with(code, error)
}

const fn code_of(error: &DecideError) -> ErrorCode {
    match error {
        DecideError::NotFound => ErrorCode::NotFound,
        DecideError::AlreadyDecided(_)
        | DecideError::AlreadyVoted
        | DecideError::ReasonMissing
        | DecideError::OnlyOnce(_)
        | DecideError::PartOfPlan(_) => ErrorCode::PreconditionFailed,
        DecideError::Expired => ErrorCode::ApprovalExpired,
        DecideError::Role { .. } | DecideError::OwnCall(_) => ErrorCode::PermissionDenied,
        DecideError::TooManyRules => ErrorCode::ResourceExhausted,
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

/// The status for a plan that cannot be decided.
pub(crate) fn decide_plan(plan: PlanId, error: DecidePlanError) -> Status {
    let (code, message) = match error {
        DecidePlanError::Store(error) => return store(error),
        DecidePlanError::NotFound => (
            ErrorCode::NotFound,
            "there is no such plan; `orion plan list` shows the open ones".to_owned(),
        ),
        DecidePlanError::OtherHash => (
            ErrorCode::PreconditionFailed,
            format!(
                "the hash is of another plan, so nothing was decided; read the plan again: `orion plan show {plan}`"
            ),
        ),
        DecidePlanError::NotOpen(state) => {
            (ErrorCode::PreconditionFailed, format!("this plan is {} already", state.as_str()))
        }
        DecidePlanError::Expired => (
            ErrorCode::ApprovalExpired,
            "this plan has expired; make it again to be asked again".to_owned(),
        ),
        DecidePlanError::NotRequester => (
            ErrorCode::PermissionDenied,
            "only the person who asked for the plan can do this".to_owned(),
        ),
        DecidePlanError::Step { number, error } => {
            let message = format!("step {number}: {error}; nothing of the plan was answered");
            let refused = ToolError::new(code_of(&error), capital(&message));
            return status_from(&refused.with("step", number).with("plan_id", plan.to_string()));
        }
    };
    with(code, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_as_many_rules_hold_as_may_that_is_a_limit_and_not_a_state() {
        let status = answer(DecideError::TooManyRules.into());
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        assert!(status.message().contains("200 rules of answers hold"), "{status:?}");
        assert!(status.message().contains("`orion approvals rules revoke`"), "{status:?}");
    }
}
