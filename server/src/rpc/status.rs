//! Converts errors to gRPC statuses. A status carries only what the caller may read; details go to the log.

mod decisions;
mod devices;
mod people;

use orion_domain::{ErrorCode, ToolError};
use orion_wire::{WireError, status_from};
use tonic::Status;

pub(crate) use self::decisions::{answer, decide_plan, plan};
pub(crate) use self::devices::{connect_error, device, enroll, mode, policy};
pub(crate) use self::people::{change_user, sign_in, token, token_not_found};
use crate::access::AccessError;
use crate::chat::ChatError;
use crate::people::StreamEnd;
use crate::store::StoreError;
use crate::tasks::Tasks;

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
        return Err(Status::unavailable("The backend is stopping; try again in a moment."));
    }
    Ok(())
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

/// The status for a person whose role or token does not permit the request.
pub(crate) fn denied(message: impl ToString) -> Status {
    with(ErrorCode::PermissionDenied, message)
}

/// The status for something that is managed elsewhere, or whose state does not allow the request.
pub(crate) fn managed_elsewhere(message: impl ToString) -> Status {
    with(ErrorCode::PreconditionFailed, message)
}

/// The status for a chat turn that ended before its answer.
pub(crate) fn chat(error: ChatError) -> Status {
    match error {
        ChatError::Store(error) => store(error),
        ChatError::NoModel(_) | ChatError::NoConversation => {
            status_from(&ToolError::new(ErrorCode::NotFound, error.to_string()))
        }
        ChatError::Model(_) => {
            status_from(&ToolError::new(ErrorCode::ExecutionFailed, error.to_string()))
        }
        ChatError::Left => Status::cancelled("The conversation was left."),
        ChatError::Ended(ending) => ended(ending),
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
