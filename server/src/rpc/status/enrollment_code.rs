//! The statuses for enrollment by a code.

use orion_domain::{Actor, ErrorCode, Hint};
use orion_wire::status_from;
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
        CodeError::Grants(_) => with(ErrorCode::Internal, error),
        CodeError::Off => hinted(
            ErrorCode::PreconditionFailed,
            error,
            Hint::run("make a token for the device", "orion devices invite").by(Actor::Admin),
        ),
        CodeError::Busy(_) => hinted(
            ErrorCode::ResourceExhausted,
            error,
            Hint::run("try again in a minute, when those that ask no more are forgotten, or enrol with a token", "orion devices invite")
                .by(Actor::Admin),
        ),
        CodeError::OtherAuthority => hinted(
            ErrorCode::PermissionDenied,
            error,
            "check the address and the network: somebody may be between the device and the backend",
        ),
        CodeError::Ended => {
            hinted(ErrorCode::NotFound, error, "ask again, which shows another code")
        }
        CodeError::WrongCode => status_from(
            &super::error(ErrorCode::NotFound, error)
                .hint("compare the code with the one that the device shows")
                .hint("if it has expired, ask again on the device, which shows another"),
        ),
        CodeError::Locked { minutes } => hinted(
            ErrorCode::RateLimited,
            error,
            format!("wait for {minutes} min, then type the code that the device shows"),
        ),
        CodeError::OtherWords { .. } => status_from(
            &super::error(ErrorCode::PreconditionFailed, error)
                .hint("read the words on the device again")
                .hint(
                    "if it shows others than the request has, refuse it: somebody may be between the device and the backend",
                ),
        ),
        CodeError::NameTaken(_) => hinted(
            ErrorCode::PreconditionFailed,
            error,
            "give this device another name, or revoke the one that has it",
        ),
        CodeError::LabelsOfFile(_) => hinted(
            ErrorCode::PreconditionFailed,
            error,
            "leave the labels out, or give this device another name",
        ),
        CodeError::Decided { .. } => hinted(
            ErrorCode::PreconditionFailed,
            error,
            Hint::run("see the devices", "orion devices list"),
        ),
    }
}
