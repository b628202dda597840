//! Every failure of a command, with its exit code, its message and its hints.

mod connect;
mod report;
mod typed;

use jiff::tz::TimeZone;
use orion_domain::{ErrorCode, Hint, ToolError, without_system_number};
use orion_usage::GivenOptions;
use serde_json::{Map, Value, json};
use tonic::{Code, Status};

pub(crate) use self::report::Report;
pub(crate) use self::typed::{as_typed, quoted};
use crate::global::token_variable;

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
    #[error("the backend at {backend} cannot be reached: {why}")]
    Unreachable {
        /// The address.
        backend: String,
        /// Why not.
        why: String,
        /// What to do.
        hints: Vec<Hint>,
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
    /// A file is not text.
    #[error("{0} is not text in UTF-8")]
    NotText(String),
    /// The command took too long.
    #[error("{0}")]
    TimedOut(String),
    /// The person interrupted the command.
    #[error("interrupted")]
    Interrupted,
    /// The reader of the output closed it, as `head` does.
    #[error("the output was closed")]
    ReaderGone,
    /// A failure, and what to do about it.
    #[error("{failure}")]
    Hinted {
        /// The failure.
        failure: Box<Failure>,
        /// What to do, one step each.
        hints: Vec<Hint>,
    },
}

impl Failure {
    /// Adds what to do.
    pub(crate) fn hint(self, hint: impl Into<Hint>) -> Self {
        let hint = hint.into();
        match self {
            Self::Hinted { failure, mut hints } => {
                hints.push(hint);
                Self::Hinted { failure, hints }
            }
            Self::Tool(_)
            | Self::Status { .. }
            | Self::Unreachable { .. }
            | Self::SignIn(_)
            | Self::Usage(_)
            | Self::NotFound(_)
            | Self::Conflict(_)
            | Self::Failed(_)
            | Self::NotText(_)
            | Self::TimedOut(_)
            | Self::Interrupted
            | Self::ReaderGone => Self::Hinted { failure: Box::new(self), hints: vec![hint] },
        }
    }

    /// Returns the failure without what to do.
    pub(crate) fn cause(&self) -> &Self {
        if let Self::Hinted { failure, .. } = self { failure.cause() } else { self }
    }

    /// Returns the code of an error of the catalogue. `None` for any other failure.
    pub(crate) fn tool_code(&self) -> Option<ErrorCode> {
        if let Self::Tool(error) = self.cause() { Some(error.code) } else { None }
    }

    /// Returns the program's exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Tool(error) => error.code.exit_code(),
            Self::Status { code, .. } => status_exit_code(*code),
            Self::ReaderGone => 0,
            Self::Unreachable { .. } | Self::Failed(_) | Self::NotText(_) => 1,
            Self::Usage(_) => 2,
            Self::NotFound(_) => 3,
            Self::SignIn(_) => 4,
            Self::TimedOut(_) => 8,
            Self::Conflict(_) => 9,
            Self::Interrupted => 130,
            Self::Hinted { failure, .. } => failure.exit_code(),
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
            Self::Failed(_) | Self::NotText(_) => "FAILED",
            Self::TimedOut(_) => "TIMEOUT",
            Self::Interrupted => "INTERRUPTED",
            Self::ReaderGone => "OUTPUT_CLOSED",
            Self::Hinted { failure, .. } => failure.code(),
        }
    }

    /// Returns what to do.
    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Tool(error) => error.hints.clone(),
            Self::Hinted { failure, hints } => [failure.hints(), hints.clone()].concat(),
            Self::Status { code: Code::Unauthenticated, .. } => {
                vec![match token_variable() {
                    Some(_) => {
                        "set ORION_TOKEN to a token that counts, or unset it to use your sign-in"
                            .into()
                    }
                    None => Hint::run("sign in", "orion login"),
                }]
            }
            Self::Unreachable { hints, .. } => hints.clone(),
            Self::Status { .. }
            | Self::SignIn(_)
            | Self::Usage(_)
            | Self::NotFound(_)
            | Self::Conflict(_)
            | Self::Failed(_)
            | Self::NotText(_)
            | Self::TimedOut(_)
            | Self::Interrupted
            | Self::ReaderGone => Vec::new(),
        }
    }

    /// Adds the next step for a failure without one. `line` is the command with its subcommands, such as
    /// `orion devices show`, and `list` the command that lists its objects.
    pub(crate) fn with_next_step(self, line: &str, list: Option<String>) -> Self {
        if !self.hints().is_empty() {
            return self;
        }
        let hint = match (self.exit_code(), list) {
            (2, _) => Hint::run("see how it is used", format!("{line} --help")),
            (3, Some(list)) => Hint::run("see which there are", list),
            (3, None) => Hint::run("see how it is used", format!("{line} --help")),
            (9, Some(list)) => Hint::run("see how they stand", list),
            (9, None) => Hint::run("see what it does", format!("{line} --help")),
            (0 | 130, _) => return self,
            _ => Hint::run("see what answers, and as whom you are signed in", "orion status"),
        };
        self.hint(hint)
    }

    /// Formats the failure for programs.
    pub(crate) fn to_json(&self) -> Value {
        let (details, recoverable) = if let Self::Tool(error) = self {
            (error.details.clone(), error.recoverable)
        } else {
            (Map::new(), false)
        };
        json!({"error": {
            "code": self.code(),
            "message": without_system_number(&self.to_string()),
            "details": details,
            "recoverable": recoverable,
            "hints": self.hints(),
        }})
    }

    /// Formats the failure for people, its times in `zone`.
    pub(crate) fn report(&self, zone: &TimeZone, options: &GivenOptions) -> Report {
        if let Self::Tool(error) = self {
            return Report::of(error, zone, options);
        }
        Report::new(&self.to_string(), self.code(), &self.hints(), options)
    }
}

/// Returns the key that was probably meant, where a parser's message quotes an unknown one first and then the known
/// ones.
pub(crate) fn nearest_key(message: &str) -> Option<&str> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next().filter(|_| message.contains("unknown field"))?;
    let scored = quoted.map(|known| (strsim::jaro_winkler(unknown, known), known));
    let near = scored.filter(|(score, _)| *score > 0.7);
    near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
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
        if let Some(lost) = Self::lost(&status) {
            return lost;
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
    fn a_failure_with_hints_stays_what_it_is_and_programs_read_the_same_facts() {
        let failure = Failure::NotFound("there is no call".to_owned())
            .hint(Hint::run("list your calls", "orion calls list"))
            .hint("check the id");
        assert_eq!((failure.exit_code(), failure.code()), (3, "NOT_FOUND"));
        let report = failure.report(&TimeZone::UTC, &GivenOptions::none());
        assert_eq!(report.message, "there is no call (NOT_FOUND)");
        assert_eq!(report.hints, ["list your calls: `orion calls list`", "check the id"]);
        assert_eq!(
            failure.to_json(),
            json!({"error": {
                "code": "NOT_FOUND",
                "message": "there is no call",
                "details": {},
                "recoverable": false,
                "hints": [
                    {"text": "list your calls", "command": "orion calls list"},
                    {"text": "check the id"},
                ],
            }})
        );
    }
}
