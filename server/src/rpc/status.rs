//! Converts errors to gRPC statuses. A status carries only what the caller may read; details go to the log.

use orion_domain::{ErrorCode, PlanId, Risk, ToolError};
use orion_wire::{WireError, status_from};
use tonic::Status;

use crate::fleet::effective_policy::ModeError;
use crate::fleet::enrollment::EnrollError;
use crate::fleet::presence::ConnectError;
use crate::people::{SignInError, StreamEnd};
use crate::pipeline::confirm::AnswerError;
use crate::pipeline::plan::PlanError;
use crate::store::{ChangeUserError, DecideError, DecidePlanError, StoreError, TokenError};

fn with(code: ErrorCode, message: impl ToString) -> Status {
    let mut message = message.to_string();
    if let Some(first) = message.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    if !message.ends_with('.') {
        message.push('.');
    }
    status_from(&ToolError::new(code, message))
}

/// The status for a handler that panicked or was cancelled.
pub(crate) fn broken_off() -> Status {
    with(ErrorCode::Internal, "the backend failed at this request; its log says why")
}

/// The status for a message that cannot be decoded.
pub(crate) fn wire(error: WireError) -> Status {
    with(ErrorCode::InvalidArgument, error)
}

/// The status for a request with an invalid value.
pub(crate) fn invalid(message: impl ToString) -> Status {
    with(ErrorCode::InvalidArgument, message)
}

/// The status for an error of the store.
pub(crate) fn store(error: StoreError) -> Status {
    match error {
        StoreError::NotFound => with(ErrorCode::NotFound, "there is nothing with that name or id"),
        StoreError::KeyInUse => with(ErrorCode::PreconditionFailed, error),
        StoreError::Conflict => with(
            ErrorCode::PreconditionFailed,
            "it has changed since it was read, its state does not allow this, or the shortened id fits several; read it again and retry",
        ),
        StoreError::Full => with(
            ErrorCode::ResourceExhausted,
            "the backend's disk is full, so nothing can be recorded and nothing is done; free some space there",
        ),
        StoreError::Unavailable | StoreError::OtherVersion | StoreError::Corrupt => {
            tracing::error!(%error, "the record failed");
            with(
                ErrorCode::Internal,
                "the backend's database does not respond; the backend's log says why",
            )
        }
    }
}

/// The status for an error of the store when a device was looked up.
pub(crate) fn device(error: StoreError) -> Status {
    match error {
        StoreError::NotFound => with(
            ErrorCode::DeviceNotFound,
            "no device has that name or id; `orion devices list` shows those there are",
        ),
        StoreError::Conflict
        | StoreError::KeyInUse
        | StoreError::Full
        | StoreError::Unavailable
        | StoreError::OtherVersion
        | StoreError::Corrupt => store(error),
    }
}

/// The status for a failed sign-in.
pub(crate) fn sign_in(error: SignInError) -> Status {
    match error {
        SignInError::Store(error) => store(error),
        SignInError::Length => with(ErrorCode::InvalidArgument, error),
        SignInError::Limited(_) => with(ErrorCode::RateLimited, error),
        SignInError::Busy => with(ErrorCode::ResourceExhausted, error),
        SignInError::OldPassword => with(ErrorCode::PermissionDenied, error),
        SignInError::Secret | SignInError::Reset | SignInError::Wrong => {
            Status::unauthenticated(capital(&error))
        }
    }
}

/// The status that ends a stream whose session or token is no longer valid.
pub(crate) fn ended(ending: StreamEnd) -> Status {
    match ending {
        StreamEnd::SignedOut => Status::unauthenticated(
            "You were signed out: the session or token is good no more. Sign in again: `orion login`.",
        ),
        StreamEnd::RoleChanged => {
            Status::aborted("What you may do has changed, so this answer ends here; ask again.")
        }
    }
}

/// The status for a failed change of an account.
pub(crate) fn change_user(error: ChangeUserError) -> Status {
    match error {
        ChangeUserError::Store(error) => store(error),
        ChangeUserError::NotFound => with(
            ErrorCode::NotFound,
            "there is no such account; `orion users list` shows those there are",
        ),
        ChangeUserError::LastAdmin => with(
            ErrorCode::PreconditionFailed,
            "this is the last enabled admin who can sign in, and nobody could make another; make another admin with a password first",
        ),
        ChangeUserError::Taken => with(
            ErrorCode::AlreadyExists,
            "there is an account of that name already, maybe a disabled one; choose another name, or enable that one",
        ),
        ChangeUserError::TooMany => with(ErrorCode::ResourceExhausted, error),
    }
}

/// The status for a token that cannot be created.
pub(crate) fn token(error: TokenError) -> Status {
    match error {
        TokenError::Store(error) => store(error),
        TokenError::NoUser => with(
            ErrorCode::NotFound,
            "there is no such enabled account; `orion users list` shows those there are",
        ),
        TokenError::Taken => with(
            ErrorCode::AlreadyExists,
            "there is a token of that name already; choose another, or revoke that one first",
        ),
        TokenError::TooMany => with(
            ErrorCode::ResourceExhausted,
            format!("{error}; revoke one that is not needed (`orion tokens list`)"),
        ),
    }
}

/// The status for revoking a token that does not exist.
pub(crate) fn token_not_found() -> Status {
    with(ErrorCode::NotFound, "there is no such token; `orion tokens list` shows those there are")
}

/// The status for a person whose role or token does not permit the request.
pub(crate) fn denied(message: impl ToString) -> Status {
    with(ErrorCode::PermissionDenied, message)
}

/// The status for a failed enrollment.
pub(crate) fn enroll(error: EnrollError) -> Status {
    match error {
        EnrollError::Store(error) => store(error),
        EnrollError::Request(_) | EnrollError::Name(_) | EnrollError::NoTicket => {
            with(ErrorCode::InvalidArgument, error)
        }
        EnrollError::Issue(reason) => {
            tracing::error!(%reason, "a certificate could not be issued");
            with(
                ErrorCode::Internal,
                "the certificate could not be issued; the backend's log says why",
            )
        }
        EnrollError::Held(_) | EnrollError::KeyKnown | EnrollError::OtherKey => {
            with(ErrorCode::PermissionDenied, error)
        }
        EnrollError::Unknown
        | EnrollError::Expired
        | EnrollError::Spent
        | EnrollError::Ticket
        | EnrollError::Retired => Status::unauthenticated(capital(&error)),
    }
}

/// The status for a device whose connection is rejected.
pub(crate) fn connect_error(error: ConnectError) -> Status {
    match error {
        ConnectError::Store(error) => store(error),
        ConnectError::Unknown | ConnectError::OtherKey | ConnectError::Copied => {
            Status::unauthenticated(capital(&error))
        }
        // The device of this connection is gone; the device that replaced it connects again.
        ConnectError::Overtaken => Status::aborted(capital(&error)),
        ConnectError::Held(_) => with(ErrorCode::PermissionDenied, error),
    }
}

/// The status for a failed change of a device's mode.
pub(crate) fn mode(error: ModeError) -> Status {
    match error {
        ModeError::Store(error) => store(error),
        ModeError::NoReason | ModeError::TooLong => with(ErrorCode::InvalidArgument, error),
        ModeError::Held(_) => with(ErrorCode::PreconditionFailed, error),
    }
}

/// The status for an error of the store when a policy version was looked up or applied.
pub(crate) fn policy(error: StoreError) -> Status {
    match error {
        StoreError::NotFound => with(
            ErrorCode::NotFound,
            "there is no such version of the policy; `orion policy history` shows those there are",
        ),
        StoreError::Conflict => with(
            ErrorCode::PreconditionFailed,
            "another version of the policy has come since; look at it with `orion policy show`, and apply yours again",
        ),
        StoreError::KeyInUse
        | StoreError::Full
        | StoreError::Unavailable
        | StoreError::OtherVersion
        | StoreError::Corrupt => store(error),
    }
}

/// The status for something that is managed elsewhere, or whose state does not allow the request.
pub(crate) fn managed_elsewhere(message: impl ToString) -> Status {
    with(ErrorCode::PreconditionFailed, message)
}

/// The status for an approval request that cannot be decided.
pub(crate) fn unanswered(error: AnswerError) -> Status {
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
pub(crate) fn unplanned(error: PlanError) -> Status {
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
pub(crate) fn undecided(plan: PlanId, error: DecidePlanError) -> Status {
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
            let unanswered = of_step(risk, error);
            let message = format!("step {number}: {unanswered}; nothing of the plan was answered");
            let error =
                ToolError::new(code_of(&unanswered), capital(&message)).with("step", number);
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

fn capital(error: &impl std::fmt::Display) -> String {
    let mut text = error.to_string();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text.push('.');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_as_many_rules_hold_as_may_that_is_a_limit_and_not_a_state() {
        let status = unanswered(AnswerError::TooManyRules);
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        assert!(status.message().contains("200 rules of answers hold"), "{status:?}");
        assert!(status.message().contains("`orion approvals rules revoke`"), "{status:?}");
    }
}
