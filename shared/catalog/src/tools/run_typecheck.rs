//! `run_typecheck`: checks the types of a project.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};

use crate::execution::Execution;
use crate::project::{ProjectArguments, ProjectReturns, Task, reasons, touches};
use crate::spec::{Category, Tool};

/// The `run_typecheck` tool.
#[derive(Debug)]
pub struct RunTypecheck;

impl Tool for RunTypecheck {
    type Arguments = ProjectArguments;
    type Returns = ProjectReturns;

    const NAME: &'static str = "run_typecheck";
    const CATEGORY: Category = Category::Dev;
    const DESCRIPTION: &'static str = "Checks the types of a project on the device: cargo check, tsc, mypy or go vet. Changes \
        no source file.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [Capability] = &[Capability::DevTools];
    const HAS_EFFECTS: bool = true;
    const IDEMPOTENT: bool = false;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"run_typecheck","device":"laptop-123","runner":"cargo"}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(arguments: &ProjectArguments, places: &Places) -> Result<Touches, ToolError> {
        let ProjectArguments { target, runner, timeout } = arguments;
        touches(Task::Typecheck, (target, *runner, *timeout), places)
    }

    fn reasons(arguments: &ProjectArguments) -> Vec<String> {
        reasons(Task::Typecheck, arguments.runner)
    }
}
