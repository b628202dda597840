//! What one copy became, for programs and people.

use serde::Serialize;
use serde_json::Value;

use super::place::Place;
use crate::call_result::CallResult;

/// One copied file, or one that could not be copied.
#[derive(Debug, Serialize)]
pub(super) struct Copy {
    source: String,
    destination: String,
    /// Whether it is there whole.
    pub(super) copied: bool,
    call_id: String,
    /// Size in bytes; 0 if it was not copied.
    pub(super) size_bytes: u64,
    sha256: Option<String>,
    /// Why it was not copied.
    pub(super) error: Option<String>,
}

/// Something in a folder that was not copied, and why.
#[derive(Debug, Serialize)]
pub(super) struct LeftOut {
    /// Its path below the folder.
    pub(super) path: String,
    /// Why.
    pub(super) why: &'static str,
}

/// A copied folder.
#[derive(Debug, Serialize)]
pub(super) struct CopiedFolder {
    pub(super) source: String,
    pub(super) destination: String,
    pub(super) files: Vec<Copy>,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) bytes: u64,
    pub(super) failed: usize,
}

impl Copy {
    /// Returns what a call became.
    pub(super) fn of(source: &Place, destination: &Place, result: &CallResult) -> Self {
        let envelope = &result.envelope;
        let data = envelope.data.as_ref();
        let field = |name: &str| data.and_then(|data| data.get(name));
        Self {
            source: source.shown(),
            destination: destination.shown(),
            copied: envelope.success,
            call_id: envelope.meta.call_id.clone(),
            size_bytes: field("size_bytes").and_then(Value::as_u64).unwrap_or(0),
            sha256: field("sha256").and_then(Value::as_str).map(ToOwned::to_owned),
            error: envelope.error.as_ref().map(|error| error.message.clone()),
        }
    }

    /// Returns a copy that failed before or beside its call.
    pub(super) fn failed(source: &Place, destination: &Place, why: String) -> Self {
        Self {
            source: source.shown(),
            destination: destination.shown(),
            copied: false,
            call_id: String::new(),
            size_bytes: 0,
            sha256: None,
            error: Some(why),
        }
    }
}
