//! `undo_call`: undoes the changes of an earlier call.

use orion_domain::{
    Access, Capability, ErrorCode, Hint, Places, Risk, ToolError, ToolFacts, Touches,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::copy_path::CopyPath;
use super::create_directory::CreateDirectory;
use super::path;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Category, Tool};

/// The `undo_call` tool.
#[derive(Debug)]
pub struct UndoCall;

/// The argument names of changed paths, in calls that can be undone.
const CHANGED: &[&str] = &["path", "source", "destination"];

/// The detail of an error that says that the call was undone before.
pub const ALREADY_UNDONE: &str = "already_undone";

/// Returns the paths that a call may change, from its arguments, for a tool that can be undone. The
/// source of a copy does not change, so undoing a copy needs no right to it.
#[must_use]
pub fn paths_of(tool: &str, arguments: &Map<String, Value>) -> Vec<String> {
    let changed = if tool == CopyPath::NAME { &["destination"] } else { CHANGED };
    let text = |name: &&str| arguments.get(*name).and_then(Value::as_str).map(ToOwned::to_owned);
    changed.iter().filter_map(text).collect()
}

/// Returns whether a call of this tool that succeeded has changed nothing, by the data of its result: a folder that was
/// there already was not made.
#[must_use]
pub fn changed_nothing(tool: &str, data: &Value) -> bool {
    tool == CreateDirectory::NAME && data.get("created") == Some(&Value::Bool(false))
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
    /// The paths that the call named and may have changed, from 1 to 2, as it named them: they are
    /// what the undo touches.
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
    /// How many files and folders that touched; missing where it was not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// How many bytes in files that touched; missing where it was not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
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
    // The second undo of a call is rejected, and so returns another result.
    const IDEMPOTENT: bool = false;
    const EXAMPLE: &'static str = r#"{"tool":"undo_call","device":"laptop-123","call_id":"01893e2a-7c00-7000-8000-000000000001","paths":["old/notes.txt"]}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample = Sample { target: Target::Entry, arguments: "{}" };

    fn facts(_arguments: &Arguments, facts: ToolFacts<'static>) -> ToolFacts<'static> {
        // What an undo changes, another undo brings back.
        ToolFacts { can_undo: true, ..facts }
    }

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        let mut touches = Touches::nothing();
        for text in &arguments.paths {
            touches = touches.and_path(path(places, text)?, Access::Write);
        }
        if touches.paths.is_empty() {
            return Err(ToolError::new(
                ErrorCode::InvalidArgument,
                "undo_call needs the paths that the call named.",
            )
            .hint(Hint::run(
                "make the call with this command, which fills them in",
                "orion undo",
            )));
        }
        // An undo may affect a folder that was moved, copied or deleted.
        Ok(touches.and_all_in_it())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn paths(tool: &str, arguments: &Value) -> Vec<String> {
        paths_of(tool, arguments.as_object().unwrap())
    }

    #[test]
    fn the_paths_of_a_call_are_given_as_it_named_them() {
        let written = json!({"path": "a/../b", "content": "/etc/passwd"});
        assert_eq!(paths("write_file", &written), ["a/../b"]);
        let both = json!({"destination": "Z", "source": "~/a", "overwrite": true});
        assert_eq!(paths("move_path", &both), ["~/a", "Z"]);
        assert_eq!(paths("copy_path", &both), ["Z"]);
    }

    #[test]
    fn what_names_no_path_has_none() {
        for arguments in [json!({}), json!({"path": 7}), json!({"paths": ["a"], "app": "b"})] {
            assert_eq!(paths("write_file", &arguments), Vec::<String>::new(), "{arguments}");
        }
    }

    #[test]
    fn without_a_path_nothing_is_touched_and_the_call_is_refused() {
        let arguments = Arguments { call_id: "x".to_owned(), paths: Vec::new() };
        let home = Some("/home/ann");
        let places = Places::parse(orion_domain::PathStyle::Posix, home, home).unwrap();
        let refused = UndoCall::touches(&arguments, &places).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
    }
}
