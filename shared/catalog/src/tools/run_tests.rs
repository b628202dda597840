//! `run_tests`: runs the tests of a project.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};

use crate::execution::Execution;
use crate::project::{ProjectArguments, ProjectReturns, Task, reasons, touches};
use crate::spec::{Category, Tool};

/// The `run_tests` tool.
#[derive(Debug)]
pub struct RunTests;

impl Tool for RunTests {
    type Arguments = ProjectArguments;
    type Returns = ProjectReturns;

    const NAME: &'static str = "run_tests";
    const CATEGORY: Category = Category::Dev;
    const DESCRIPTION: &'static str = "Runs the tests of a project on the device, without network, and counts those that \
        passed and failed. A run with failed tests is a successful call whose exit_code is not \
        0.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [Capability] = &[Capability::DevTools];
    const HAS_EFFECTS: bool = true;
    const IDEMPOTENT: bool = false;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"run_tests","device":"laptop-123","runner":"make"}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(arguments: &ProjectArguments, places: &Places) -> Result<Touches, ToolError> {
        let ProjectArguments { target, runner, timeout } = arguments;
        touches(Task::Test, (target, *runner, *timeout), places)
    }

    fn reasons(arguments: &ProjectArguments) -> Vec<String> {
        reasons(Task::Test, arguments.runner)
    }
}
