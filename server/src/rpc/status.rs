//! Converts errors to gRPC statuses. A status carries only what the caller may read; details go to the log.

mod access_requests;
mod decisions;
mod devices;
mod enrollment_code;
mod passkeys;
mod people;

use orion_domain::envelope::sentence;
use orion_domain::{Actor, ErrorCode, Hint, ToolError};
use orion_wire::{WireError, status_from};
use tonic::Status;

pub(crate) use self::access_requests::access_request;
pub(crate) use self::decisions::{answer, decide_plan, plan};
pub(crate) use self::devices::{
    connect_error, custom_tool, device, enroll, invite, mode, policy, rename,
};
pub(crate) use self::enrollment_code::enrollment_code;
pub(crate) use self::passkeys::{new_passkey, passkey};
pub(crate) use self::people::{change_user, no_user, sign_in, token, token_not_found};
use crate::access::AccessError;
use crate::chat::ChatError;
use crate::people::StreamEnd;
use crate::store::StoreError;
use crate::tasks::Tasks;

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

/// The status for an error that the caller reads as it is.
pub(crate) fn tool_error(error: ToolError) -> Status {
    status_from(&error)
}

/// The status for a request that the access table or a limit refuses.
pub(crate) fn access(error: AccessError) -> Status {
    match error {
        AccessError::UnknownOperation => Status::permission_denied(error.to_string()),
        AccessError::NotSignedIn | AccessError::NoCertificate => {
            Status::unauthenticated(error.to_string())
        }
        AccessError::UnknownSource => Status::internal(error.to_string()),
        AccessError::Role(error) | AccessError::Scope(error) | AccessError::Limit(error) => {
            status_from(&error)
        }
        AccessError::Store(error) => store(error),
    }
}

/// Rejects requests that start new work while the backend stops.
pub(crate) fn not_stopping(tasks: &Tasks) -> Result<(), Status> {
    if tasks.shutdown.is_cancelled() {
        return Err(Status::unavailable("The backend is stopping. Try again in a few seconds."));
    }
    Ok(())
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
            "it has changed since it was read, or its state does not allow this",
            "read it again",
        ),
        StoreError::Ambiguous => hinted(
            ErrorCode::PreconditionFailed,
            "several ids begin like this one",
            "give the whole id, which lists show with -o wide",
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

/// The status for a person whose role or token does not permit the request.
pub(crate) fn denied(message: impl ToString) -> Status {
    with(ErrorCode::PermissionDenied, message)
}

/// The status for something that is managed elsewhere, or whose state does not allow the request.
pub(crate) fn managed_elsewhere(clause: impl ToString, hint: impl Into<Hint>) -> Status {
    hinted(ErrorCode::PreconditionFailed, clause, hint)
}

/// The status for a chat turn that ended before its answer.
pub(crate) fn chat(error: ChatError) -> Status {
    match error {
        ChatError::Store(error) => store(error),
        ChatError::NoModel(_) => hinted(
            ErrorCode::NotFound,
            error,
            "leave the model out to use the first, or choose one that /model lists in a chat",
        ),
        ChatError::NoAssistant(_) => hinted(
            ErrorCode::NotFound,
            error,
            "name an assistant of `[[assistants]]` in orion-server.toml, or begin a new chat without one",
        ),
        ChatError::NothingToResume => {
            hinted(ErrorCode::PreconditionFailed, error, "say what you want done instead")
        }
        ChatError::Spent { .. } => hinted(
            ErrorCode::RateLimited,
            error,
            "wait, begin a new chat if it is this chat's limit, or ask an admin to raise `[spending]` in orion-server.toml",
        ),
        ChatError::NoConversation => {
            status_from(&ToolError::new(ErrorCode::NotFound, sentence(&error.to_string())))
        }
        ChatError::Model(_) => {
            status_from(&ToolError::new(ErrorCode::ExecutionFailed, error.to_string()))
        }
        ChatError::Left => Status::cancelled("The conversation was left."),
        ChatError::Ended(ending) => ended(ending),
    }
}

fn capital(error: &impl std::fmt::Display) -> String {
    sentence(&error.to_string())
}
