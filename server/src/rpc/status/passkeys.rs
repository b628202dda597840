//! The statuses for passkeys.

use orion_domain::{Actor, ErrorCode, Hint};
use tonic::Status;

use super::{hinted, store};
use crate::passkeys::PasskeyError;
use crate::store::NewPasskeyError;

/// The status for a passkey that was not registered, or a signature that does not count. `page` is the page's address.
pub(crate) fn passkey(error: &PasskeyError, page: &str) -> Status {
    let (code, hint): (_, Hint) = match error {
        PasskeyError::Store(error) => return store(*error),
        PasskeyError::Unavailable(_) => (
            ErrorCode::PreconditionFailed,
            Hint::new("set `page_url` of [approvals] in orion-server.toml to an address like https://orion.example")
                .by(Actor::Admin),
        ),
        PasskeyError::Challenge => (ErrorCode::PreconditionFailed, "try again".into()),
        PasskeyError::Malformed(_) | PasskeyError::Ceremony => {
            (ErrorCode::InvalidArgument, "load the page again, and try again".into())
        }
        PasskeyError::Origin(_) | PasskeyError::RelyingParty => {
            (ErrorCode::PermissionDenied, Hint::new(format!("open the page at {page}")))
        }
        PasskeyError::NotPresent | PasskeyError::NotVerified => (
            ErrorCode::PermissionDenied,
            "use an authenticator with a PIN, a finger or a face, and unlock it".into(),
        ),
        PasskeyError::Attestation | PasskeyError::Algorithm => {
            (ErrorCode::NotSupported, "use another authenticator".into())
        }
        PasskeyError::Unknown => (
            ErrorCode::PermissionDenied,
            Hint::new(format!("register a passkey at {page}/people, or choose another one")),
        ),
        PasskeyError::Signature => (ErrorCode::PermissionDenied, "try again".into()),
        PasskeyError::Counter => (
            ErrorCode::PermissionDenied,
            Hint::new(format!("remove this passkey at {page}/people, and tell an admin")),
        ),
    };
    hinted(code, error, hint)
}

/// The status for a passkey that cannot be stored.
pub(crate) fn new_passkey(error: NewPasskeyError) -> Status {
    match error {
        NewPasskeyError::Store(error) => store(error),
        NewPasskeyError::Taken => {
            hinted(ErrorCode::AlreadyExists, error, "use it as it is, or remove it first")
        }
        NewPasskeyError::TooMany => {
            hinted(ErrorCode::ResourceExhausted, error, "remove one under People on the page")
        }
        NewPasskeyError::NoUser => hinted(ErrorCode::NotFound, error, "sign in again"),
    }
}
