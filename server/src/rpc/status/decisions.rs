//! The statuses for answers to approval requests, and for plans.

use orion_domain::{ErrorCode, PlanId, Risk, ToolError};
use orion_wire::status_from;
use tonic::Status;

use super::{capital, store, with};
use crate::pipeline::confirm::AnswerError;
use crate::pipeline::plan::PlanError;
use crate::store::{DecideError, DecidePlanError};

/// The status for an approval request that cannot be decided.
pub(crate) fn answer(error: AnswerError) -> Status {
    with(code_of(&error), error)
}

fn code_of(error: &AnswerError) -> ErrorCode {
    match error {
        AnswerError::NotFound => ErrorCode::NotFound,
        AnswerError::Ambiguous => ErrorCode::InvalidArgument,
        AnswerError::AlreadyDecided(_)
        | AnswerError::AlreadyVoted
        | AnswerError::ReasonMissing
        | AnswerError::OnlyOnce(_)
        | AnswerError::PartOfPlan(_)
        | AnswerError::Rule(_) => ErrorCode::PreconditionFailed,
        AnswerError::Expired => ErrorCode::ApprovalExpired,
        AnswerError::Role { .. } | AnswerError::OwnCall(_) => ErrorCode::PermissionDenied,
        AnswerError::TooManyRules => ErrorCode::ResourceExhausted,
        AnswerError::Changed(why) => why.code,
        AnswerError::Store => ErrorCode::Internal,
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
        DecidePlanError::Step { number, risk, error } => {
            let refused = of_step(risk, error);
            let message = format!("step {number}: {refused}; nothing of the plan was answered");
            let error = ToolError::new(code_of(&refused), capital(&message)).with("step", number);
            return status_from(&error.with("plan_id", plan.to_string()));
        }
    };
    with(code, message)
}

fn of_step(risk: Risk, error: DecideError) -> AnswerError {
    match error {
        DecideError::NotFound => AnswerError::NotFound,
        DecideError::AlreadyDecided(state) => AnswerError::AlreadyDecided(state),
        DecideError::Expired => AnswerError::Expired,
        DecideError::AlreadyVoted => AnswerError::AlreadyVoted,
        DecideError::Role(needed) => AnswerError::Role { risk, needed },
        DecideError::OwnCall(role) => AnswerError::OwnCall(role),
        DecideError::ReasonMissing => AnswerError::ReasonMissing,
        DecideError::OnlyOnce | DecideError::TooManyRules => {
            AnswerError::OnlyOnce("it is a step of a plan")
        }
        DecideError::PartOfPlan(plan) => AnswerError::PartOfPlan(plan),
        DecideError::Store(_) => AnswerError::Store,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_as_many_rules_hold_as_may_that_is_a_limit_and_not_a_state() {
        let status = answer(AnswerError::TooManyRules);
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        assert!(status.message().contains("200 rules of answers hold"), "{status:?}");
        assert!(status.message().contains("`orion approvals rules revoke`"), "{status:?}");
    }
}
