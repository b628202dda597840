//! The statuses for requests for access.

use orion_domain::{ErrorCode, Hint};
use orion_wire::status_from;
use tonic::Status;

use super::{hinted, store, with};
use crate::pipeline::access_requests::AccessError;
use crate::store::{AnswerAccessError, NewRequestError};

/// The status for a request that cannot be made or answered.
pub(crate) fn access_request(error: AccessError) -> Status {
    let list = || Hint::run("list the requests", "orion requests list");
    match error {
        AccessError::Store(error)
        | AccessError::New(NewRequestError::Store(error))
        | AccessError::Answer(AnswerAccessError::Store(error)) => store(error),
        AccessError::NotGrantable(error) => status_from(&error),
        AccessError::NoCall => {
            let hint = Hint::run("list your calls", "orion calls list");
            hinted(ErrorCode::NotFound, error, hint)
        }
        AccessError::NotFound => status_from(
            &super::error(ErrorCode::NotFound, error)
                .hint("that of another person is for an admin to see and to answer")
                .hint(list()),
        ),
        AccessError::Duration => with(ErrorCode::InvalidArgument, error),
        AccessError::New(NewRequestError::TooManyOwn | NewRequestError::TooMany) => {
            let hint = Hint::run("withdraw what is not needed", "orion requests end ID");
            hinted(ErrorCode::ResourceExhausted, error, hint)
        }
        AccessError::New(NewRequestError::SameOpen(id)) => {
            let hint = Hint::run("see it", format!("orion requests show {id}"));
            hinted(ErrorCode::PreconditionFailed, error, hint)
        }
        AccessError::Answer(ref answer) => {
            let code = match answer {
                AnswerAccessError::NotFound => ErrorCode::NotFound,
                AnswerAccessError::NotAdmin | AnswerAccessError::OwnRequest => {
                    ErrorCode::PermissionDenied
                }
                AnswerAccessError::TooMany => ErrorCode::ResourceExhausted,
                AnswerAccessError::NotOpen(_)
                | AnswerAccessError::OtherDigest
                | AnswerAccessError::Store(_) => ErrorCode::PreconditionFailed,
            };
            hinted(code, error, list())
        }
    }
}
