//! `git_status`: returns the branch and what differs from its last commit, in a folder of a repository.

use orion_domain::{Capability, DevicePath, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::command::{JudgedCommand, touches_of};
use crate::execution::Execution;
use crate::spec::{Category, Tool};

/// The `git_status` tool.
#[derive(Debug)]
pub struct GitStatus;

/// Which folder of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A folder of the repository; the workspace when left out. Only what is in it is listed.
    #[serde(default = "here")]
    pub path: String,
}

fn here() -> String {
    ".".to_owned()
}

/// The state of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The branch; none where a commit is checked out instead.
    pub branch: Option<String>,
    /// The branch of the remote repository that it follows; none if it follows none.
    pub upstream: Option<String>,
    /// Commits that the upstream branch does not have; none where that is not known.
    pub ahead: Option<u64>,
    /// Commits of the upstream branch that the branch does not have; none where that is not known.
    pub behind: Option<u64>,
    /// Files with a change in the index.
    pub staged: u64,
    /// Files with a change that is not in the index.
    pub unstaged: u64,
    /// Files and folders that git does not track.
    pub untracked: u64,
    /// Files with a conflict.
    pub conflicts: u64,
    /// Whether there is none of these.
    pub clean: bool,
    /// What git wrote: its porcelain format, version 2, without the middle of long output.
    pub stdout: String,
}

/// Returns the command of a call.
///
/// # Errors
/// None for this line, which its test judges.
pub fn command() -> Result<JudgedCommand, ToolError> {
    JudgedCommand::of_words(&["git", "status", "--porcelain=v2", "--branch", "--", "."])
}

/// Returns the folder that git starts in.
///
/// # Errors
/// `INVALID_PATH`, and `INVALID_ARGUMENT` where the device has no workspace.
pub fn folder(arguments: &Arguments, places: &Places) -> Result<DevicePath, ToolError> {
    path(places, &arguments.path)
}

impl Tool for GitStatus {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "git_status";
    const CATEGORY: Category = Category::Dev;
    const DESCRIPTION: &'static str = "Returns the branch of a git repository and which files are staged, \
        changed, untracked or in conflict. For the changes themselves use git_diff.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::DevTools, Capability::FileRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"git_status","device":"laptop-123"}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        touches_of(&[command()?], &folder(arguments, places)?, places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_only_reads() {
        assert!(command().unwrap().only_reads());
    }
}
