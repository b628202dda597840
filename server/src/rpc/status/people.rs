//! The statuses for sign-in, accounts and tokens.

use orion_domain::{Actor, ErrorCode, Hint, UserName};
use orion_wire::status_from;
use tonic::Status;

use super::{capital, hinted, store, with};
use crate::people::SignInError;
use crate::store::{ChangeUserError, TokenError};

/// The status for a failed sign-in.
pub(crate) fn sign_in(error: SignInError) -> Status {
    match error {
        SignInError::Store(error) => store(error),
        SignInError::Length => {
            hinted(ErrorCode::InvalidArgument, error, "choose another, such as four words")
        }
        SignInError::Limited(limited) => status_from(
            &super::error(ErrorCode::RateLimited, limited)
                .hint(format!("try again in {} min", limited.minutes))
                .hint("sign in from a place where it worked before"),
        ),
        SignInError::Busy => {
            hinted(ErrorCode::ResourceExhausted, error, "try again in a few seconds")
        }
        SignInError::OldPassword => hinted(
            ErrorCode::PermissionDenied,
            error,
            Hint::run("set a new one", "orion users password NAME").by(Actor::Admin),
        ),
        SignInError::Secret
        | SignInError::Reset
        | SignInError::Deleted
        | SignInError::Link
        | SignInError::Wrong => Status::unauthenticated(capital(&error)),
    }
}

/// The status for a failed change of an account.
pub(crate) fn change_user(error: ChangeUserError) -> Status {
    match error {
        ChangeUserError::Store(error) => store(error),
        ChangeUserError::NotFound => {
            hinted(ErrorCode::NotFound, "no account has that name, or it was deleted", list_users())
        }
        ChangeUserError::IsSet => hinted(
            ErrorCode::PreconditionFailed,
            "this account has a password by now",
            "change it with the old one",
        ),
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
        ChangeUserError::Deleted => hinted(
            ErrorCode::AlreadyExists,
            "an account of that name was deleted, and no name is given twice: the audit log and old calls name that person",
            "choose another name",
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
