//! `run_lint`: looks for mistakes in the source of a project.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};

use crate::execution::Execution;
use crate::project::{ProjectArguments, ProjectReturns, Task, reasons, touches};
use crate::spec::{Category, Tool};

/// The `run_lint` tool.
#[derive(Debug)]
pub struct RunLint;

impl Tool for RunLint {
    type Arguments = ProjectArguments;
    type Returns = ProjectReturns;

    const NAME: &'static str = "run_lint";
    const CATEGORY: Category = Category::Dev;
    const DESCRIPTION: &'static str = "Runs the linter of a project on the device: clippy, eslint, ruff, go vet, or its lint \
        script. Changes no source file.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [Capability] = &[Capability::DevTools];
    const HAS_EFFECTS: bool = true;
    const IDEMPOTENT: bool = false;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"run_lint","device":"laptop-123","runner":"make"}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(arguments: &ProjectArguments, places: &Places) -> Result<Touches, ToolError> {
        let ProjectArguments { target, runner, timeout } = arguments;
        touches(Task::Lint, (target, *runner, *timeout), places)
    }

    fn reasons(arguments: &ProjectArguments) -> Vec<String> {
        reasons(Task::Lint, arguments.runner)
    }
}
