//! Wire errors: invalid messages, and the encoding of a tool error in a gRPC status.

use orion_domain::ToolError;
use orion_domain::code::StatusClass;
use orion_domain::json::JsonError;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

/// The trailer that carries the whole error as JSON.
pub const ERROR_METADATA: &str = "orion-error-bin";

/// The trailer of a refusal for which the cause is that the device's certificate has expired: it may renew it.
pub const CERTIFICATE_EXPIRED_METADATA: &str = "orion-certificate-expired";

/// A message that cannot be converted to the domain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A field is missing or has an unknown value.
    #[error("the field `{field}` is missing or has a value that this version does not know")]
    Field {
        /// The field's name.
        field: &'static str,
    },
    /// A field is too large.
    #[error("the field `{field}` is larger than {limit} bytes")]
    TooLarge {
        /// The field's name.
        field: &'static str,
        /// The maximum size in bytes.
        limit: usize,
    },
    /// JSON that parsers may read differently.
    #[error("the field `{field}` cannot be read: {why}")]
    Json {
        /// The field's name.
        field: &'static str,
        /// The JSON error.
        why: JsonError,
    },
    /// A field holds too many values.
    #[error("the field `{field}` holds more than {limit} values")]
    TooMany {
        /// The field's name.
        field: &'static str,
        /// The maximum number of values.
        limit: usize,
    },
    /// The bytes are not a JSON object.
    #[error("the field `{field}` must be a JSON object in UTF-8")]
    NotAnObject {
        /// The field's name.
        field: &'static str,
    },
}

const fn code(class: StatusClass) -> Code {
    match class {
        StatusClass::Cancelled => Code::Cancelled,
        StatusClass::Unknown => Code::Unknown,
        StatusClass::InvalidArgument => Code::InvalidArgument,
        StatusClass::DeadlineExceeded => Code::DeadlineExceeded,
        StatusClass::NotFound => Code::NotFound,
        StatusClass::AlreadyExists => Code::AlreadyExists,
        StatusClass::PermissionDenied => Code::PermissionDenied,
        StatusClass::ResourceExhausted => Code::ResourceExhausted,
        StatusClass::FailedPrecondition => Code::FailedPrecondition,
        StatusClass::Aborted => Code::Aborted,
        StatusClass::Unimplemented => Code::Unimplemented,
        StatusClass::Internal => Code::Internal,
        StatusClass::Unavailable => Code::Unavailable,
    }
}

/// Converts the error to a status, complete in its trailer.
#[must_use]
pub fn status_from(error: &ToolError) -> Status {
    let mut status = Status::new(code(error.code.status()), error.message.clone());
    if let Ok(json) = serde_json::to_vec(error)
        && json.len() < 6 * 1024
    {
        status.metadata_mut().insert_bin(ERROR_METADATA, MetadataValue::from_bytes(&json));
    }
    status
}

/// Returns the error that a status carries, if any.
#[must_use]
pub fn tool_error_from(status: &Status) -> Option<ToolError> {
    let bytes = status.metadata().get_bin(ERROR_METADATA)?.to_bytes().ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use orion_domain::ErrorCode;

    #[test]
    fn an_error_survives_a_status() {
        for &code in ErrorCode::ALL {
            let error = ToolError::new(code, "What happened.").with("attempted_path", "/x");
            assert_eq!(tool_error_from(&status_from(&error)), Some(error));
        }
    }
}
