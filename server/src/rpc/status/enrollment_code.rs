//! The statuses for enrollment by a code.

use orion_domain::{Actor, ErrorCode, Hint};
use tonic::Status;

use super::{enroll, hinted, store, with};
use crate::fleet::enrollment::by_code::CodeError;

/// The status for a failed step of an enrollment by a code.
pub(crate) fn enrollment_code(error: CodeError) -> Status {
    match error {
        CodeError::Store(error) => store(error),
        CodeError::Invalid(error) => enroll(*error),
        CodeError::Request(_) | CodeError::Malformed(_) | CodeError::NotACode(_) => {
            with(ErrorCode::InvalidArgument, error)
        }
        CodeError::Off => hinted(
            ErrorCode::PreconditionFailed,
            error,
            Hint::run("make a token for the device", "orion devices invite").by(Actor::Admin),
        ),
        CodeError::Busy(_) => hinted(
            ErrorCode::ResourceExhausted,
            error,
            Hint::run("try again in a few minutes, or enrol with a token", "orion devices invite")
                .by(Actor::Admin),
        ),
        CodeError::OtherAuthority => hinted(
            ErrorCode::PermissionDenied,
            error,
            "somebody may be between the device and the backend; check the address and the network",
        ),
        CodeError::Ended => {
            hinted(ErrorCode::NotFound, error, "ask again, which shows another code")
        }
        CodeError::WrongCode => hinted(
            ErrorCode::NotFound,
            error,
            "compare the code with the one on the device; one that expired is replaced by asking again there",
        ),
        CodeError::Locked { minutes } => hinted(
            ErrorCode::RateLimited,
            error,
            format!("wait for {minutes} min, then type the code that the device shows"),
        ),
        CodeError::OtherWords => hinted(
            ErrorCode::PreconditionFailed,
            error,
            "read the words on the device again; if it shows others than the request has, somebody may be between the two: refuse it",
        ),
        CodeError::Decided { .. } => hinted(
            ErrorCode::PreconditionFailed,
            error,
            Hint::run("see the devices", "orion devices list"),
        ),
    }
}
