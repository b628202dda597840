//! Every failure of a command, with its exit code and its message.

use orion_domain::{ErrorCode, ToolError};
use serde_json::{Map, Value, json};
use tonic::{Code, Status};

use crate::text;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The backend or a device returned an error of the catalogue.
    #[error("{}", .0.message)]
    Tool(Box<ToolError>),
    /// The backend returned only a gRPC status.
    #[error("{message}")]
    Status {
        /// gRPC's code.
        code: Code,
        /// The backend's message.
        message: String,
    },
    /// Nothing answers at the address.
    #[error(
        "the backend at {backend} does not answer ({why}); start it with `orion-server run`, or name another with --backend"
    )]
    Unreachable {
        /// The address.
        backend: String,
        /// The connection's error.
        why: String,
    },
    /// Nobody is signed in.
    #[error("{0}")]
    SignIn(String),
    /// The command line is invalid.
    #[error("{0}")]
    Usage(String),
    /// The named object does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The current state prevents the command.
    #[error("{0}")]
    Conflict(String),
    /// The command failed.
    #[error("{0}")]
    Failed(String),
    /// The command took too long.
    #[error("{0}")]
    TimedOut(String),
    /// The person interrupted the command.
    #[error("interrupted")]
    Interrupted,
    /// The reader of the output closed it, as `head` does.
    #[error("the output was closed")]
    ReaderGone,
}

impl Failure {
    /// Returns the program's exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Tool(error) => error.code.exit_code(),
            Self::Status { code, .. } => status_exit_code(*code),
            Self::ReaderGone => 0,
            Self::Unreachable { .. } | Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::NotFound(_) => 3,
            Self::SignIn(_) => 4,
            Self::TimedOut(_) => 8,
            Self::Conflict(_) => 9,
            Self::Interrupted => 130,
        }
    }

    /// Returns the stable code for programs.
    fn code(&self) -> &str {
        match self {
            Self::Tool(error) => error.code.as_str(),
            Self::Status { code: Code::Unauthenticated, .. } | Self::SignIn(_) => {
                "SIGN_IN_REQUIRED"
            }
            Self::Status { code, .. } => match status_exit_code(*code) {
                2 => "USAGE",
                3 => "NOT_FOUND",
                5 => "PERMISSION_DENIED",
                8 => "TIMEOUT",
                9 => "CONFLICT",
                130 => "CANCELLED",
                _ => "FAILED",
            },
            Self::Unreachable { .. } => "BACKEND_UNREACHABLE",
            Self::Usage(_) => "USAGE",
            Self::NotFound(_) => "NOT_FOUND",
            Self::Conflict(_) => "CONFLICT",
            Self::Failed(_) => "FAILED",
            Self::TimedOut(_) => "TIMEOUT",
            Self::Interrupted => "INTERRUPTED",
            Self::ReaderGone => "OUTPUT_CLOSED",
        }
    }

    /// Formats the failure for programs.
    pub(crate) fn to_json(&self) -> Value {
        let (details, recoverable, suggestions) = if let Self::Tool(error) = self {
            (error.details.clone(), error.recoverable, error.suggestions.clone())
        } else {
            (Map::new(), false, Vec::new())
        };
        json!({"error": {
            "code": self.code(),
            "message": self.to_string(),
            "details": details,
            "recoverable": recoverable,
            "suggestions": suggestions,
        }})
    }

    /// Formats the failure for people: one line, and one for each helpful detail.
    pub(crate) fn to_lines(&self) -> Vec<String> {
        if let Self::Tool(error) = self {
            return tool_error_lines(error);
        }
        let mut lines = vec![text::plain(&self.to_string())];
        if let Self::Status { code: Code::Unauthenticated, .. } = self {
            lines.push("  run `orion login`".to_owned());
        }
        lines
    }
}

/// Formats an error of the catalogue for people.
pub(crate) fn tool_error_lines(error: &ToolError) -> Vec<String> {
    let mut lines = vec![format!("{} ({})", text::plain(error.message.trim_end()), error.code)];
    for (name, value) in &error.details {
        let shown = match value {
            Value::String(text) => text.clone(),
            Value::Array(items) if items.iter().all(Value::is_string) => {
                items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => value.to_string(),
        };
        lines.push(format!("  {name}: {}", text::one_line(&shown, 400)));
    }
    if !error.suggestions.is_empty() {
        let suggestions = error.suggestions.join(", ");
        lines.push(format!("  did you mean: {}", text::one_line(&suggestions, 400)));
    }
    lines
}

const fn status_exit_code(code: Code) -> u8 {
    match code {
        Code::InvalidArgument | Code::OutOfRange => 2,
        Code::NotFound => 3,
        Code::Unauthenticated => 4,
        Code::PermissionDenied => 5,
        Code::DeadlineExceeded => 8,
        Code::AlreadyExists | Code::Aborted | Code::FailedPrecondition => 9,
        Code::Cancelled => 130,
        Code::Ok
        | Code::Unknown
        | Code::ResourceExhausted
        | Code::Unimplemented
        | Code::Internal
        | Code::Unavailable
        | Code::DataLoss => 1,
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        if let Some(error) = orion_wire::tool_error_from(&status) {
            return Self::Tool(Box::new(error));
        }
        let message = if status.message().is_empty() {
            format!("the backend answered with {:?} and no words", status.code())
        } else {
            status.message().to_owned()
        };
        Self::Status { code: status.code(), message }
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Self::Tool(Box::new(error))
    }
}

/// Returns the exit code of an error code; unknown codes of a newer backend count as failures.
pub(crate) fn exit_code_of(code: &str) -> u8 {
    if code.is_empty() { 0 } else { ErrorCode::from_text(code).map_or(1, ErrorCode::exit_code) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn every_code_of_the_catalogue_keeps_its_exit_code_over_the_wire() {
        for &code in ErrorCode::ALL {
            let failure =
                Failure::from(orion_wire::status_from(&ToolError::new(code, "What happened.")));
            assert_eq!(failure.exit_code(), code.exit_code(), "{code}");
            assert_eq!(exit_code_of(code.as_str()), code.exit_code());
        }
        assert_eq!(exit_code_of(""), 0);
        assert_eq!(exit_code_of("SOMETHING_NEW"), 1);
    }

    #[rstest]
    #[case(Status::unauthenticated("sign in"), 4, "SIGN_IN_REQUIRED")]
    #[case(Status::not_found("no such device"), 3, "NOT_FOUND")]
    #[case(Status::permission_denied("admins only"), 5, "PERMISSION_DENIED")]
    #[case(Status::deadline_exceeded("too slow"), 8, "TIMEOUT")]
    #[case(Status::aborted("changed meanwhile"), 9, "CONFLICT")]
    #[case(Status::unavailable("gone"), 1, "FAILED")]
    #[case(Status::invalid_argument("what"), 2, "USAGE")]
    fn a_bare_status_is_told_by_its_class(
        #[case] status: Status,
        #[case] exit: u8,
        #[case] code: &str,
    ) {
        let failure = Failure::from(status);
        assert_eq!((failure.exit_code(), failure.code()), (exit, code));
    }

    #[test]
    fn an_error_names_what_was_tried_and_what_is_allowed() {
        let error = ToolError::new(ErrorCode::PathNotAllowed, "/etc/passwd is outside.")
            .with("attempted_path", "/etc/passwd")
            .with("allowed_paths", vec!["/home/ann\u{1b}[2J", "/srv"]);
        assert_eq!(
            Failure::from(error).to_lines(),
            [
                "/etc/passwd is outside. (PATH_NOT_ALLOWED)",
                "  allowed_paths: /home/ann\u{fffd}[2J, /srv",
                "  attempted_path: /etc/passwd",
            ]
        );
    }
}
