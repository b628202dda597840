//! `run_format`: checks the format of a project's source, or formats it.

use orion_domain::{Capability, Places, Risk, ToolError, ToolFacts, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::project::{ProjectResult, Runner, Task, here, reasons, timeout, touches};
use crate::spec::{Category, Tool};

/// The `run_format` tool.
#[derive(Debug)]
pub struct RunFormat;

/// Which project, and whether to change it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A project of the device's list, such as backend or frontend; all for each of them; or the folder of a
    /// project. The workspace when left out.
    #[serde(default = "here")]
    pub target: String,
    /// Whether to change nothing and only say what is not formatted.
    #[serde(default = "check_only")]
    pub check_only: bool,
    /// The program that does it. When left out, the files of the project say which.
    #[serde(default)]
    pub runner: Option<Runner>,
    /// Seconds until everything that was started is ended.
    #[serde(default = "timeout")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u32,
}

const fn check_only() -> bool {
    true
}

impl Arguments {
    /// Returns what is to be done.
    #[must_use]
    pub const fn task(&self) -> Task {
        if self.check_only { Task::CheckFormat } else { Task::Format }
    }
}

/// What the formatter found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The program that did it; none for all projects.
    pub runner: Option<Runner>,
    /// What was started, as text.
    pub command: String,
    /// The exit code of the last program; none in a preview, and where a signal ended it. Of all projects, the
    /// first that is not 0.
    pub exit_code: Option<i32>,
    /// What is not formatted, or was not, as the formatter writes it; none where it writes no differences, and for
    /// all projects.
    pub diff: Option<String>,
    /// The last 50 lines of standard output, at most 4 KiB.
    pub stdout_tail: String,
    /// The last 50 lines of standard error, at most 4 KiB.
    pub stderr_tail: String,
    /// The result of each project, where the target is all; else empty.
    pub projects: Vec<ProjectResult>,
}

impl Tool for RunFormat {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "run_format";
    const CATEGORY: Category = Category::Dev;
    const DESCRIPTION: &'static str = "Says what in the source of a project is not formatted, or formats it \
        with check_only false: cargo fmt, prettier, ruff or black.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [Capability] = &[Capability::DevTools, Capability::FileWrite];
    const HAS_EFFECTS: bool = true;
    const IDEMPOTENT: bool = false;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"run_format","device":"laptop-123","runner":"cargo","check_only":false}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        let Arguments { target, runner, timeout, .. } = arguments;
        touches(arguments.task(), (target, *runner, *timeout), places)
    }

    fn reasons(arguments: &Arguments) -> Vec<String> {
        reasons(arguments.task(), arguments.runner)
    }

    fn facts(arguments: &Arguments, facts: ToolFacts<'static>) -> ToolFacts<'static> {
        let risk = if arguments.check_only { Risk::Low } else { Self::RISK };
        ToolFacts { risk, ..facts }
    }
}
