//! What an executor of each kind does.

use orion_catalog::Tool;
use orion_domain::ToolError;

use super::{AppContext, Context, FileContext, Outcome};
#[cfg(target_os = "linux")]
use crate::programs::CommandContext;

/// A tool that reaches files and nothing else.
pub trait FileTool: Tool {
    /// Executes the tool. With `context.dry_run`, reports what it would do and changes nothing.
    ///
    /// # Errors
    /// Every failure of the tool, and `TIMEOUT` or `CANCELLED` if the call was stopped.
    fn run(
        arguments: Self::Arguments,
        context: &FileContext<'_>,
    ) -> Result<Outcome<Self::Returns>, ToolError>;
}

/// A tool that reaches neither files nor programs: its own code is all that runs.
pub trait PlainTool: Tool {
    /// Executes the tool, as [`FileTool::run`].
    ///
    /// # Errors
    /// As [`FileTool::run`].
    fn run(
        arguments: Self::Arguments,
        context: &Context<'_>,
    ) -> Result<Outcome<Self::Returns>, ToolError>;
}

/// A tool that opens, lists or closes applications on the person's desktop.
pub trait AppTool: Tool {
    /// Executes the tool, as [`FileTool::run`].
    ///
    /// # Errors
    /// As [`FileTool::run`].
    fn run(
        arguments: Self::Arguments,
        context: &AppContext<'_>,
    ) -> Result<Outcome<Self::Returns>, ToolError>;
}

/// A tool that runs programs and waits for them. Only Linux confines programs.
#[cfg(target_os = "linux")]
pub trait CommandTool: Tool {
    /// Executes the tool, as [`FileTool::run`].
    ///
    /// # Errors
    /// As [`FileTool::run`].
    fn run(
        arguments: Self::Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<Self::Returns>, ToolError>;
}
