//! `undo_call`: takes back what an earlier call changed.

use orion_domain::{Access, Capability, ErrorCode, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::path;
use crate::spec::{Category, Tool};

/// See the module.
#[derive(Debug)]
pub struct UndoCall;

/// What a call's arguments name paths by, for those who want to take it back.
const PATH_ARGUMENTS: [&str; 3] = ["path", "source", "destination"];

/// The paths among the arguments of a call that can be taken back.
#[must_use]
pub fn paths_of(arguments: &Map<String, Value>) -> Vec<String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    PATH_ARGUMENTS.into_iter().filter_map(text).collect()
}

/// What became of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// What was there before the call is there again.
    Restored,
    /// What the call made went to the trash.
    Removed,
}

/// One path, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undone {
    /// The path.
    pub path: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// Which call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of the call, as its result names it.
    pub call_id: String,
    /// The paths that the call named, as it named them: they are what the undoing touches.
    #[schemars(length(min = 1, max = 2))]
    pub paths: Vec<String>,
}

/// What was taken back, or in a preview would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The call.
    pub call_id: String,
    /// The tool that it called.
    pub tool: String,
    /// What became of each path.
    pub paths: Vec<Undone>,
}

impl Tool for UndoCall {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "undo_call";
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Takes back what an earlier call changed on the device: brings back what it \
        deleted, replaced or moved, and removes what it made. Anything that changed since is left alone and \
        named. Works for seven days.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileWrite];
    const HAS_EFFECTS: bool = true;
    // What is taken back the second time is refused, but the answer is another.
    const IDEMPOTENT: bool = false;
    const EXAMPLE: &'static str = r#"{"tool":"undo_call","device":"laptop-123","call_id":"01893e2a-7c00-7000-8000-000000000001","paths":["old/notes.txt"]}"#;

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        let mut touches = Touches::nothing();
        for text in &arguments.paths {
            touches = touches.and_path(path(places, text)?, Access::Write);
        }
        if touches.paths.is_empty() {
            return Err(ToolError::new(
                ErrorCode::InvalidArgument,
                "undo_call needs the paths that the call named; orion undo fills them in.",
            ));
        }
        Ok(touches)
    }
}
