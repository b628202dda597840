//! Plain tools that also ask programs of the system.

use orion_catalog::Tool;
use orion_domain::ToolError;

use crate::call::{Context, Outcome, RiskGate};
use crate::programs::Programs;

/// A plain tool that also asks programs of the system, where these can be confined.
pub trait AskingTool: Tool {
    /// Executes the tool, as [`FileTool::run`](super::FileTool::run).
    ///
    /// # Errors
    /// As [`FileTool::run`](super::FileTool::run).
    fn run(
        arguments: Self::Arguments,
        context: &AskingContext<'_>,
    ) -> Result<Outcome<Self::Returns>, ToolError>;
}

/// The context of one call of such a tool.
#[derive(Debug, Clone, Copy)]
pub struct AskingContext<'a> {
    /// What every tool may use.
    pub common: Context<'a>,
    /// The programs of this device.
    pub programs: &'a Programs,
    /// What was decided on the call.
    pub risk: &'a RiskGate,
}
