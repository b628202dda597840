//! What every call answers, success or not.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::code::ErrorCode;
use crate::observation::Observation;
use crate::raise::RiskRaise;

/// The result of a call, as devices make it and everyone else passes it on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Whether the call did what it should.
    pub success: bool,
    /// One sentence for a person.
    pub message: String,
    /// What the tool returns, by the schema of `orion tools show NAME`.
    pub data: Option<Value>,
    /// What went wrong.
    pub error: Option<ToolError>,
    /// Whether this is only a preview.
    pub dry_run: bool,
    /// Where, what and how long.
    pub meta: Meta,
}

/// What went wrong, for the model (code, suggestions) and for people (message).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ToolError {
    /// The stable code.
    pub code: ErrorCode,
    /// What happened, why, and what to do.
    pub message: String,
    /// Facts by name: `attempted_path`, `allowed_paths`, `rule`, `fields`, …
    #[serde(default)]
    pub details: Map<String, Value>,
    /// Whether the call may be tried again, changed.
    pub recoverable: bool,
    /// What might be meant instead.
    #[serde(default)]
    pub suggestions: Vec<String>,
}

impl ToolError {
    /// An error with no details.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: Map::new(),
            recoverable: code.is_recoverable(),
            suggestions: Vec::new(),
        }
    }

    /// The same with one fact more.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// The same with suggestions.
    #[must_use]
    pub fn suggesting(mut self, suggestions: Vec<String>) -> Self {
        self.suggestions = suggestions;
        self
    }
}

/// Where, what and how long.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// The call, as text.
    pub call_id: String,
    /// The device's name.
    pub device: String,
    /// The tool's name.
    pub tool: String,
    /// How long the device worked, in milliseconds.
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
    /// Whether data was cut at a limit.
    #[serde(default)]
    pub truncated: bool,
    /// What confined the execution.
    #[serde(default)]
    pub sandbox: Option<String>,
    /// Whether Orion looked for alternatives by itself.
    #[serde(default)]
    pub auto_recovery: bool,
    /// What the device saw of each path that the call touches, where the backend asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Vec<Observation>>,
    /// In a preview: why the risk of the call is higher than its tool's, as only the device sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raises: Vec<RiskRaise>,
}

impl Envelope {
    /// A success.
    #[must_use]
    pub fn success(message: impl Into<String>, data: Value, dry_run: bool, meta: Meta) -> Self {
        Self {
            success: true,
            message: message.into(),
            data: Some(data),
            error: None,
            dry_run,
            meta,
        }
    }

    /// A failure; the message is the error's.
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
