//! Extracts tool calls from model output.
//!
//! Models write calls in many shapes, alone or within prose. This module converts every accepted shape
//! to one [`ExtractedCall`] and reports what it cannot read. It repairs nothing: output with two
//! possible readings is a problem, never a call. What is written like a call and not meant as one, because
//! the text around it denies, quotes or explains it, is [set aside](SetAside). It knows no tool names and does
//! not validate arguments; the catalogue does.
//!
//! Reading order: `read` visits the pieces that `scan` finds. In JSON, `measure` finds where a value ends,
//! [`json`](crate::json) parses it and `shape` converts it to calls; `forms` reads what is no JSON, by the
//! tokens in `marker`. `context` judges the text around a call.

mod context;
mod forms;
mod marker;
mod measure;
mod problem;
mod read;
mod released;
mod scan;
mod shape;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::{Map, Value};

pub use crate::json::MAX_DEPTH;
pub use context::NotMeant;
pub use problem::ExtractProblem;
pub use released::Released;

/// The maximum size of model output, or of one native call's arguments, in bytes.
pub const MAX_OUTPUT_BYTES: usize = 1024 * 1024;
/// The maximum number of calls from one output.
pub const MAX_CALLS: usize = 32;
/// The maximum number of calls that are found in a text of somebody else.
pub const MAX_OCCURRENCES: usize = 1024;
/// The maximum number of problems reported for one output.
pub const MAX_PROBLEMS: usize = 32;

/// One tool call as the model wrote it, in one shape; nothing is validated yet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExtractedCall {
    /// The tool's name or alias, as written.
    pub tool: String,
    /// The device or selector, as written, beside the arguments or among them. `None` when the call
    /// names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Whether the call requests only a preview; false when the call does not say.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Whether the call may wait for an offline device; `None` when the call does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<bool>,
    /// The tool's own arguments, without `device`, `dry_run` and `queue`.
    pub arguments: Map<String, Value>,
    /// Whether the form says nothing of the arguments' types: all are text, and the tool's schema says
    /// what they are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub untyped: bool,
    /// Whether the call was found in prose or in a loose wrapper. A call that is the whole output, alone
    /// or with other calls, in a fence or in tags, after its reasoning, is not recovered.
    pub recovered: bool,
    /// The model's own id for this call. `None` when the model gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl ExtractedCall {
    /// Returns the call in the first form of the envelope: the arguments beside `tool` and `device`.
    /// Where an argument's name has another meaning there, the arguments are under `parameters`.
    /// Extracting the result returns this call, without its `id`.
    #[must_use]
    pub fn flat(&self) -> Value {
        let mut form = Map::new();
        form.insert("tool".into(), Value::from(self.tool.as_str()));
        if let Some(device) = &self.device {
            form.insert("device".into(), Value::from(device.as_str()));
        }
        if self.dry_run {
            form.insert("dry_run".into(), Value::from(true));
        }
        if let Some(queue) = self.queue {
            form.insert("queue".into(), Value::from(queue));
        }
        if self.arguments.iter().any(|(name, value)| shape::has_meaning(name, value)) {
            form.insert("parameters".into(), Value::Object(self.arguments.clone()));
        } else {
            form.extend(self.arguments.clone());
        }
        Value::Object(form)
    }
}

/// The calls, text and problems of one model output.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Extraction {
    /// The calls, in the order in which they were written; at most [`MAX_CALLS`].
    pub calls: Vec<ExtractedCall>,
    /// The prose around the calls, without calls and reasoning, trimmed. It keeps what could not be
    /// read.
    pub text: String,
    /// What looks like a call and could not be read as one; at most [`MAX_PROBLEMS`].
    pub problems: Vec<ExtractProblem>,
    /// What is written like a call and not meant as one; at most [`MAX_CALLS`]. It stays in the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<SetAside>,
}

/// What is written like a call and not meant as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SetAside {
    /// The byte where it starts.
    pub start: usize,
    /// Why it is not meant as a call.
    pub why: NotMeant,
}

/// Extracts the tool calls from a model's text. Total: every input has a result, in linear time.
#[must_use]
pub fn extract(output: &str) -> Extraction {
    if output.len() > MAX_OUTPUT_BYTES {
        return Extraction { problems: vec![too_large(output)], ..Extraction::default() };
    }
    read::read(output, scan::scan(output, false).pieces, false)
}

/// Returns the calls that occur in a text of somebody else, wherever they stand: also in comments, quotations,
/// code and behind what is broken. At most [`MAX_OCCURRENCES`], and none in a text above [`MAX_OUTPUT_BYTES`].
#[must_use]
pub fn occurrences(text: &str) -> Vec<ExtractedCall> {
    if text.len() > MAX_OUTPUT_BYTES {
        return Vec::new();
    }
    read::read(text, scan::scan(text, true).pieces, true).calls
}

/// Returns the number of bytes that are read to extract from a text, repeated reads included.
#[cfg(any(test, fuzzing))]
pub(crate) fn examined(output: &str) -> usize {
    scan::scan(output, false).examined
}

/// Converts a call of a provider's native tool calling to the same shape. `arguments` is the JSON text
/// that the provider sent; empty text and `null` mean no arguments.
///
/// # Errors
/// An [`ExtractProblem`] when the name is empty or the arguments are not one unambiguous JSON object.
/// Its byte offsets count from the start of `arguments`.
pub fn from_native(
    id: Option<&str>,
    name: &str,
    arguments: &str,
) -> Result<ExtractedCall, ExtractProblem> {
    if arguments.len() > MAX_OUTPUT_BYTES {
        return Err(too_large(arguments));
    }
    if name.trim().is_empty() {
        return Err(ExtractProblem::NotACall { start: 0 });
    }
    let mut call = shape::native(name, arguments)?;
    call.id = id.map(str::to_owned);
    Ok(call)
}

fn too_large(text: &str) -> ExtractProblem {
    ExtractProblem::TooLarge { size_bytes: text.len(), limit_bytes: MAX_OUTPUT_BYTES }
}
