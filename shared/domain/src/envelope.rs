//! The result format of every call, successful or not.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::code::ErrorCode;
use crate::hint::Hint;
use crate::observation::Observation;
use crate::raise::RiskRaise;

/// The result of a call. Devices create it; everyone else forwards it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope<D = Value> {
    /// Whether the call succeeded.
    pub success: bool,
    /// One sentence for a person.
    pub message: String,
    /// What the tool returns, by the schema of `orion tools show NAME`. `None` after a failure.
    pub data: Option<D>,
    /// The error. `None` after a success.
    pub error: Option<ToolError>,
    /// Whether the result is only a preview.
    pub dry_run: bool,
    /// The call, its device, its tool and its duration.
    pub meta: Meta,
}

/// An error, with what to do about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ToolError {
    /// The stable code.
    pub code: ErrorCode,
    /// What happened and why, in sentences. What to do is in the hints.
    pub message: String,
    /// Facts by name: `attempted_path`, `allowed_paths`, `rule`, `fields`, …
    #[serde(default)]
    pub details: Map<String, Value>,
    /// Whether the call may be retried with changed arguments.
    pub recoverable: bool,
    /// What to do, one step each.
    #[serde(default)]
    pub hints: Vec<Hint>,
}

impl ToolError {
    /// Creates an error without details.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: Map::new(),
            recoverable: code.is_recoverable(),
            hints: Vec::new(),
        }
    }

    /// Adds one fact to the details.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a step that helps.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds names or paths that the caller may have meant, if there are any.
    #[must_use]
    pub fn suggesting(self, values: Vec<String>) -> Self {
        if values.is_empty() { self } else { self.hint(Hint::did_you_mean(values)) }
    }

    /// Returns the names or paths that the caller may have meant.
    #[must_use]
    pub fn suggestions(&self) -> &[String] {
        let offered = self.hints.iter().find(|hint| !hint.values.is_empty());
        offered.map(|hint| hint.values.as_slice()).unwrap_or_default()
    }
}

/// Returns a clause as a sentence, with a capital letter and a final period.
#[must_use]
pub fn sentence(clause: &str) -> String {
    let mut letters = clause.trim_end().trim_end_matches('.').chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

/// The call, its device, its tool and its duration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// The call's id as text.
    pub call_id: String,
    /// The device's name.
    pub device: String,
    /// The tool's name.
    pub tool: String,
    /// The time that the device worked, in milliseconds.
    pub duration_ms: u64,
    /// A program's exit code, for tools that run one.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// The program and its arguments, for tools that run one.
    #[serde(default)]
    pub command: Option<String>,
    /// The last lines of standard output.
    #[serde(default)]
    pub stdout_tail: Option<String>,
    /// The last lines of standard error.
    #[serde(default)]
    pub stderr_tail: Option<String>,
    /// Whether the data was truncated at a limit.
    #[serde(default)]
    pub truncated: bool,
    /// The sandbox that confined the execution. `None` for tools that run without one.
    #[serde(default)]
    pub sandbox: Option<String>,
    /// Whether Orion looked for alternatives automatically.
    #[serde(default)]
    pub auto_recovery: bool,
    /// What the device observed of each path that the call touches. `None` where the backend did not ask
    /// for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Vec<Observation>>,
    /// In a preview: why the call's risk is higher than its tool's, as only the device can determine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raises: Vec<RiskRaise>,
}

impl<D> Envelope<D> {
    /// Creates a successful result.
    #[must_use]
    pub fn success(message: impl Into<String>, data: D, dry_run: bool, meta: Meta) -> Self {
        Self {
            success: true,
            message: message.into(),
            data: Some(data),
            error: None,
            dry_run,
            meta,
        }
    }
}

impl Envelope {
    /// Creates a failed result; its message is the error's.
    #[must_use]
    pub fn failure(error: ToolError, dry_run: bool, meta: Meta) -> Self {
        Self {
            success: false,
            message: error.message.clone(),
            data: None,
            error: Some(error),
            dry_run,
            meta,
        }
    }
}
