//! Model output → tool calls.
//!
//! Models write calls in many shapes, alone or in the middle of prose. This module brings every accepted
//! shape to one [`ExtractedCall`] and says plainly what it couldn't read. It repairs nothing: output that
//! two readers could take in two ways is a problem, never a call. It knows no tool names and validates
//! no arguments; that is the catalogue's part.
//!
//! Reading order: `read` walks the pieces that `scan` finds, `measure` finds where a JSON value ends,
//! [`json`](crate::json) parses it and `shape` makes calls of it.

mod measure;
mod problem;
mod read;
mod scan;
mod shape;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::{Map, Value};

pub use crate::json::MAX_DEPTH;
pub use problem::ExtractProblem;

/// The most bytes of model output, or of one native call's arguments, that are read.
pub const MAX_OUTPUT_BYTES: usize = 1024 * 1024;
/// The most calls taken from one output.
pub const MAX_CALLS: usize = 32;
/// The most problems reported for one output.
pub const MAX_PROBLEMS: usize = 32;

/// One tool call as the model wrote it, in one shape; nothing is validated yet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExtractedCall {
    /// The tool's name or alias, as written.
    pub tool: String,
    /// The device or selector, as written; taken from beside the arguments or from among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Whether the call asks for a preview only; false when it doesn't say.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Whether the call may wait for an offline device; `None` when it doesn't say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<bool>,
    /// The tool's own arguments, without `device`, `dry_run` and `queue`.
    pub arguments: Map<String, Value>,
    /// Whether the call was found in prose or in a loose wrapper. A call that is the whole output, alone or
    /// with other calls, in a fence or in tags, after its reasoning, is not recovered.
    pub recovered: bool,
    /// The model's own id for this call, where it gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl ExtractedCall {
    /// The call in the first form of the envelope: the arguments beside `tool` and `device`. Where an
    /// argument's name means something else there, the arguments stand under `parameters`. Reading the
    /// result gives this call again, without its `id`.
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

/// What one model output holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Extraction {
    /// The calls, in the order in which they were written; at most [`MAX_CALLS`].
    pub calls: Vec<ExtractedCall>,
    /// The prose around the calls: calls and reasoning cut out, trimmed. What couldn't be read stays in it.
    pub text: String,
    /// What looks like a call and couldn't be taken as one; at most [`MAX_PROBLEMS`].
    pub problems: Vec<ExtractProblem>,
}

/// Reads the tool calls out of a model's text. Total: every input has an answer, in time linear in its size.
#[must_use]
pub fn extract(output: &str) -> Extraction {
    if output.len() > MAX_OUTPUT_BYTES {
        return Extraction { problems: vec![too_large(output)], ..Extraction::default() };
    }
    read::read(output, scan::scan(output).pieces)
}

/// Brings a call made through a provider's native tool calling to the same shape. `arguments` is the JSON
/// text that the provider sent; empty text and `null` mean no arguments.
///
/// # Errors
/// An [`ExtractProblem`] when the name is empty or the arguments aren't one unambiguous JSON object; its byte
/// offsets count from the start of `arguments`.
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
