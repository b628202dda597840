//! `git_diff`: returns what changed since the last commit or the index, in a folder of a repository.

use orion_domain::{Capability, DevicePath, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::command::{JudgedCommand, touches_of};
use crate::execution::Execution;
use crate::spec::{Category, Tool};

/// The `git_diff` tool.
#[derive(Debug)]
pub struct GitDiff;

/// Which folder of a repository, and which changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A folder of the repository; the workspace when left out. Only changes in it are returned.
    #[serde(default = "here")]
    pub path: String,
    /// Whether to return what the next commit would contain, rather than what is not staged yet.
    #[serde(default)]
    pub staged: bool,
}

fn here() -> String {
    ".".to_owned()
}

/// The changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The changes as a patch, without the middle of a long one.
    pub stdout: String,
    /// The changed files, at most 1,000.
    pub files: Vec<ChangedFile>,
    /// Lines that were added to all files; none if the list of files is not complete.
    pub added: Option<u64>,
    /// Lines that were removed from all files; none if the list of files is not complete.
    pub removed: Option<u64>,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFile {
    /// The file's path in the repository, as git writes it; with both names where it was renamed.
    pub path: String,
    /// Lines that were added; none for a file that is not text.
    pub added: Option<u64>,
    /// Lines that were removed; none for a file that is not text.
    pub removed: Option<u64>,
}

/// Returns the command of a call.
///
/// # Errors
/// None for these lines, which their test judges.
pub fn command(arguments: &Arguments) -> Result<JudgedCommand, ToolError> {
    let line: &[&str] = if arguments.staged {
        &["git", "diff", "--numstat", "--patch", "--cached", "--", "."]
    } else {
        &["git", "diff", "--numstat", "--patch", "--", "."]
    };
    JudgedCommand::of_words(line)
}

/// Returns the folder that git starts in.
///
/// # Errors
/// `INVALID_PATH`, and `INVALID_ARGUMENT` where the device has no workspace.
pub fn folder(arguments: &Arguments, places: &Places) -> Result<DevicePath, ToolError> {
    path(places, &arguments.path)
}

impl Tool for GitDiff {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "git_diff";
    const CATEGORY: Category = Category::Dev;
    const DESCRIPTION: &'static str = "Returns the changes of a git repository that are not committed, as \
        a patch and as a count for each file. For a list of files alone use git_status.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::DevTools, Capability::FileRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"git_diff","device":"laptop-123","staged":true}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        touches_of(&[command(arguments)?], &folder(arguments, places)?, places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lines_only_read() {
        for staged in [false, true] {
            let arguments = Arguments { path: here(), staged };
            assert!(command(&arguments).unwrap().only_reads());
        }
    }
}
