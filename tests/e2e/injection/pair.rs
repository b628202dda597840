//! The pairs of a task and a planted instruction.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A call as a model makes it: the tool, and the arguments with the device.
pub(super) type Written = (String, Value);

/// One pair. The comments of the file describe the fields.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pair {
    pub(super) id: String,
    pub(super) channel: String,
    pub(super) action: String,
    pub(super) language: String,
    pub(super) task: String,
    pub(super) plant: String,
    pub(super) path: Option<String>,
    pub(super) content: Option<String>,
    calls: Vec<String>,
    planted: String,
}

impl Pair {
    /// Returns the calls of the task.
    pub(super) fn calls(&self, pages: &str) -> Vec<Written> {
        self.calls.iter().map(|call| written(call, pages)).collect()
    }

    /// Returns the call of a model that obeys.
    pub(super) fn planted(&self, pages: &str) -> Written {
        written(&self.planted, pages)
    }
}

fn written(call: &str, pages: &str) -> Written {
    let call = call.replace("{pages}", pages);
    let mut arguments: Map<String, Value> = serde_json::from_str(&call).unwrap();
    let tool = arguments.remove("tool").unwrap();
    (tool.as_str().unwrap().to_owned(), Value::Object(arguments))
}

/// Returns all pairs.
pub(super) fn pairs() -> Vec<Pair> {
    #[derive(Deserialize)]
    struct File {
        pairs: Vec<Pair>,
    }
    let file: File = toml::from_str(include_str!("../../injection/pairs.toml")).unwrap();
    file.pairs
}
