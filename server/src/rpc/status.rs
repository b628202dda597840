//! Converts errors to gRPC statuses. A status carries only what the caller may read; details go to the log.

use orion_domain::envelope::sentence;
use orion_domain::{Actor, ErrorCode, Hint, PlanId, Risk, ToolError, UserName};
use orion_wire::{WireError, status_from};
use tonic::Status;

use crate::fleet::effective_policy::ModeError;
use crate::fleet::enrollment::EnrollError;
use crate::fleet::presence::ConnectError;
use crate::people::{SignInError, StreamEnd};
use crate::pipeline::confirm::AnswerError;
use crate::pipeline::plan::PlanError;
use crate::store::{ChangeUserError, DecideError, DecidePlanError, StoreError, TokenError};

fn error(code: ErrorCode, clause: impl ToString) -> ToolError {
    ToolError::new(code, sentence(&clause.to_string()))
}

fn with(code: ErrorCode, clause: impl ToString) -> Status {
    status_from(&error(code, clause))
}

/// The status for a rejected request, with what to do.
pub(crate) fn hinted(code: ErrorCode, clause: impl ToString, hint: impl Into<Hint>) -> Status {
    status_from(&error(code, clause).hint(hint))
}

/// The status for a handler that panicked or was cancelled.
pub(crate) fn broken_off() -> Status {
    hinted(ErrorCode::Internal, "the backend failed at this request", backend_log())
}

/// The step that shows why the backend failed.
fn backend_log() -> Hint {
    Hint::new("read the backend's log").by(Actor::Admin)
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
        StoreError::KeyInUse => hinted(
            ErrorCode::PreconditionFailed,
            "this idempotency key was used for another call",
            "give each call a key of its own",
        ),
        StoreError::Conflict => hinted(
            ErrorCode::PreconditionFailed,
            "it has changed since it was read, its state does not allow this, or the shortened id fits several",
            "read it again and retry",
        ),
        StoreError::Full => hinted(
            ErrorCode::ResourceExhausted,
            "the backend's disk is full, so nothing can be recorded and nothing is done",
            Hint::new("free some space on the backend's disk").by(Actor::Admin),
        ),
        StoreError::Unavailable | StoreError::OtherVersion | StoreError::Corrupt => {
            tracing::error!(%error, "the database failed");
            status_from(
                &self::error(ErrorCode::Internal, "the database does not respond")
                    .hint("try again in a few seconds")
                    .hint(backend_log()),
            )
        }
    }
}

/// The status for an error of the store when a device was looked up.
pub(crate) fn device(error: StoreError) -> Status {
    match error {
        StoreError::NotFound => hinted(
            ErrorCode::DeviceNotFound,
            "no device has that name or id",
            Hint::run("list the devices", "orion devices list"),
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
        SignInError::Limited(limited) => status_from(
            &self::error(ErrorCode::RateLimited, limited)
                .hint(format!("try again in {} min", limited.minutes))
                .hint("sign in from a place where it worked before"),
        ),
        SignInError::Busy => {
            hinted(ErrorCode::ResourceExhausted, error, "try again in a few seconds")
        }
        SignInError::OldPassword => with(ErrorCode::PermissionDenied, error),
        SignInError::Secret | SignInError::Reset | SignInError::Wrong => {
            Status::unauthenticated(capital(&error))
        }
    }
}

/// The status that ends a stream whose session or token is no longer valid.
pub(crate) fn ended(ending: StreamEnd) -> Status {
    match ending {
        StreamEnd::SignedOut => {
            Status::unauthenticated("You were signed out: the session or token is no longer valid.")
        }
        StreamEnd::RoleChanged => {
            Status::aborted("What you may do has changed, so this answer ends here. Ask again.")
        }
    }
}

/// The status for a failed change of an account.
pub(crate) fn change_user(error: ChangeUserError) -> Status {
    match error {
        ChangeUserError::Store(error) => store(error),
        ChangeUserError::NotFound => {
            hinted(ErrorCode::NotFound, "there is no such account", list_users())
        }
        ChangeUserError::LastAdmin => hinted(
            ErrorCode::PreconditionFailed,
            "this is the last enabled admin who can sign in, and nobody could make another",
            "make another admin with a password first",
        ),
        ChangeUserError::Taken => hinted(
            ErrorCode::AlreadyExists,
            "there is an account of that name already, maybe a disabled one",
            "choose another name, or enable that one",
        ),
        ChangeUserError::TooMany => with(ErrorCode::ResourceExhausted, error),
    }
}

/// The status for a token that cannot be created.
pub(crate) fn token(error: TokenError) -> Status {
    match error {
        TokenError::Store(error) => store(error),
        TokenError::NoUser => {
            hinted(ErrorCode::NotFound, "there is no such enabled account", list_users())
        }
        TokenError::Taken => hinted(
            ErrorCode::AlreadyExists,
            "there is a token of that name already",
            "choose another name, or revoke that one first",
        ),
        TokenError::TooMany => hinted(
            ErrorCode::ResourceExhausted,
            error,
            Hint::run("revoke one that is not needed", "orion tokens list"),
        ),
    }
}

/// The status for revoking a token that does not exist.
pub(crate) fn token_not_found() -> Status {
    let hint = Hint::run("list the tokens", "orion tokens list");
    hinted(ErrorCode::NotFound, "there is no such token", hint)
}

/// The status for an account that does not exist.
pub(crate) fn no_user(user: &UserName) -> Status {
    hinted(ErrorCode::NotFound, format!("there is no account {user}"), list_users())
}

fn list_users() -> Hint {
    Hint::run("list the accounts", "orion users list")
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
            hinted(ErrorCode::Internal, "the certificate could not be issued", backend_log())
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
        ModeError::NoReason => {
            hinted(ErrorCode::InvalidArgument, error, "give the reason with --reason")
        }
        ModeError::TooLong => with(ErrorCode::InvalidArgument, error),
        ModeError::Held(_) => with(ErrorCode::PreconditionFailed, error),
    }
}

/// The status for an error of the store when a policy version was looked up or applied.
pub(crate) fn policy(error: StoreError) -> Status {
    match error {
        StoreError::NotFound => hinted(
            ErrorCode::NotFound,
            "there is no such version of the policy",
            Hint::run("list the versions", "orion policy history"),
        ),
        StoreError::Conflict => status_from(
            &self::error(ErrorCode::PreconditionFailed, "another version was applied since")
                .hint(Hint::run("read it", "orion policy show"))
                .hint("apply yours again"),
        ),
        StoreError::KeyInUse
        | StoreError::Full
        | StoreError::Unavailable
        | StoreError::OtherVersion
        | StoreError::Corrupt => store(error),
    }
}

/// The status for something that is managed elsewhere, or whose state does not allow the request.
pub(crate) fn managed_elsewhere(clause: impl ToString, hint: impl Into<Hint>) -> Status {
    hinted(ErrorCode::PreconditionFailed, clause, hint)
}

/// The status for an approval request that cannot be decided.
pub(crate) fn unanswered(error: AnswerError) -> Status {
    let mut refused = self::error(code_of(&error), &error);
    refused.hints.extend(hint_of(&error));
    status_from(&refused)
}

/// Returns what the person can do, if anything.
fn hint_of(error: &AnswerError) -> Option<Hint> {
    match error {
        AnswerError::NotFound => {
            Some(Hint::run("list the open approval requests", "orion approvals list"))
        }
        AnswerError::Ambiguous => Some("give more of the id".into()),
        AnswerError::Expired => Some("make the call again to request approval".into()),
        AnswerError::ReasonMissing => Some("give the reason with --reason".into()),
        AnswerError::TooManyRules => {
            Some(Hint::run("end rules that are not needed", "orion approvals rules revoke"))
        }
        AnswerError::PartOfPlan(plan) => {
            Some(Hint::run("read the plan", format!("orion plan show {plan}")))
        }
        AnswerError::Changed(why) => why.hints.first().cloned(),
        AnswerError::Store => {
            Some(Hint::run("see whether the answer counts", "orion approvals list --all"))
        }
        AnswerError::AlreadyDecided(_)
        | AnswerError::AlreadyVoted
        | AnswerError::Role { .. }
        | AnswerError::OwnCall(_)
        | AnswerError::OnlyOnce(_)
        | AnswerError::Rule(_) => None,
    }
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
        DecidePlanError::NotOpen(state) => {
            with(ErrorCode::PreconditionFailed, format!("this plan is {} already", state.as_str()))
        }
        DecidePlanError::Expired => hinted(
            ErrorCode::ApprovalExpired,
            "this plan has expired",
            "make the plan again to request approval",
        ),
        DecidePlanError::NotRequester => {
            with(ErrorCode::PermissionDenied, "only the person who asked for the plan can do this")
        }
        DecidePlanError::Step { number, risk, error } => {
            let unanswered = of_step(risk, error);
            let clause = format!("step {number}: {unanswered}. Nothing of the plan was answered");
            let mut error = self::error(code_of(&unanswered), clause).with("step", number);
            error.hints.extend(hint_of(&unanswered));
            status_from(&error.with("plan_id", plan.to_string()))
        }
    }
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
    sentence(&error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_as_many_rules_hold_as_may_that_is_a_limit_and_not_a_state() {
        let status = unanswered(AnswerError::TooManyRules);
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        assert!(status.message().contains("200 rules of answers hold"), "{status:?}");
        let hints = orion_wire::tool_error_from(&status).unwrap().hints;
        assert_eq!(hints[0].command.as_deref(), Some("orion approvals rules revoke"));
    }
}
