//! The statuses for sign-in, accounts and tokens.

use orion_domain::ErrorCode;
use tonic::Status;

use super::{capital, store, with};
use crate::people::SignInError;
use crate::store::{ChangeUserError, TokenError};

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
