//! `run_build`: builds a project.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};

use crate::execution::Execution;
use crate::project::{ProjectArguments, ProjectReturns, Task, reasons, touches};
use crate::spec::{Category, Tool};

/// The `run_build` tool.
#[derive(Debug)]
pub struct RunBuild;

impl Tool for RunBuild {
    type Arguments = ProjectArguments;
    type Returns = ProjectReturns;

    const NAME: &'static str = "run_build";
    const CATEGORY: Category = Category::Dev;
    const DESCRIPTION: &'static str = "Builds a project on the device, without network. What the build writes stays in the \
        project.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [Capability] = &[Capability::DevTools];
    const HAS_EFFECTS: bool = true;
    const IDEMPOTENT: bool = false;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"run_build","device":"laptop-123","runner":"make"}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(arguments: &ProjectArguments, places: &Places) -> Result<Touches, ToolError> {
        let ProjectArguments { target, runner, timeout } = arguments;
        touches(Task::Build, (target, *runner, *timeout), places)
    }

    fn reasons(arguments: &ProjectArguments) -> Vec<String> {
        reasons(Task::Build, arguments.runner)
    }
}
