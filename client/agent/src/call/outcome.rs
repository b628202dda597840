//! What a tool returns.

use orion_domain::{Observation, RiskRaise};
use serde_json::Value;

/// The largest result, in bytes of JSON.
pub const MAX_RESULT_BYTES: usize = 2 * 1024 * 1024;

/// The result of a call that succeeded.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome<D = Value> {
    /// One sentence for a person.
    pub message: String,
    /// The tool's return value.
    pub data: D,
    /// Whether data was cut at a limit.
    pub truncated: bool,
    /// The observations of the paths before the call. `None` if not requested.
    pub observed: Option<Vec<Observation>>,
    /// In a preview: why the call's risk is higher than its tool's.
    pub raises: Vec<RiskRaise>,
}

impl<D> Outcome<D> {
    /// Returns an outcome without cut data.
    pub fn new(message: impl Into<String>, data: D) -> Self {
        Self { message: message.into(), data, truncated: false, observed: None, raises: Vec::new() }
    }

    /// Sets whether data was cut.
    #[must_use]
    pub fn cut(mut self, truncated: bool) -> Self {
        self.truncated = truncated;
        self
    }
}
