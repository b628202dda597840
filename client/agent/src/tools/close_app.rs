//! Executes `close_app`.

#[cfg(target_os = "linux")]
mod linux;

use orion_catalog::Tool;
use orion_catalog::tools::close_app::{Arguments, CloseApp, Returns};
use orion_domain::{ErrorCode, ToolError};

use super::delete_directory::unconfirmed;
use super::{AppContext, AppTool, Outcome};
#[cfg(target_os = "linux")]
use linux::close;

impl AppTool for CloseApp {
    fn run(arguments: Arguments, context: &AppContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let Arguments { app: name, force, confirm } = arguments;
        if !confirm && !context.dry_run {
            return Err(unconfirmed(Self::NAME));
        }
        let app = context.apps.get(&name)?;
        let Ended { closed, remaining } = close(&app.executable, force, context)?;
        if remaining.is_empty() {
            let count = match closed.len() {
                1 => "1 process".to_owned(),
                count => format!("{count} processes"),
            };
            let message = match (closed.is_empty(), context.dry_run) {
                (true, _) => format!("{name} does not run."),
                (false, true) => format!("Would close {count} of {name}."),
                (false, false) => format!("Closed {count} of {name}."),
            };
            return Ok(Outcome::new(message, Returns { app: name, closed }));
        }
        let all = closed.len() + remaining.len();
        let message = format!("{} of {all} processes of {name} still run.", remaining.len());
        let error = ToolError::new(ErrorCode::ExecutionFailed, message)
            .with("closed", closed)
            .with("remaining", remaining);
        let hint = if force {
            "look at the processes on the device"
        } else {
            "look whether it asks something on the screen, or set force to lose what is not saved"
        };
        Err(error.hint(hint))
    }
}

/// The processes of the application, after they were asked to end. In a preview, all of them as closed.
struct Ended {
    closed: Vec<u32>,
    remaining: Vec<u32>,
}

#[cfg(not(target_os = "linux"))]
fn close(_: &std::path::Path, _: bool, _: &AppContext<'_>) -> Result<Ended, ToolError> {
    let message = "This version of the agent closes applications on Linux only.";
    Err(ToolError::new(ErrorCode::NotSupported, message))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
