//! `orion mcp`: Orion's tools for programs that start their MCP servers themselves and speak over standard input and
//! output.

mod bridge;
mod setup;

use clap::Args;

use self::setup::Setup;
use crate::app::App;
use crate::failure::Failure;

/// Offers the tools of the backend to a program over standard input and output.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion mcp --setup claude-desktop          what to paste for Claude Desktop
  orion mcp --setup vscode                  what to paste for Visual Studio Code
  orion mcp                                 what such a program starts

The program uses your session, so it may call what you may. What needs an approval waits for you in Orion:
no program approves anything. Programs that connect to an address themselves use http://127.0.0.1:7080/mcp with a
token of `orion tokens create`.")]
pub(crate) struct Mcp {
    /// Print the lines to paste into the configuration of a program, and where they go
    #[arg(long, value_name = "PROGRAM", value_enum)]
    setup: Option<Setup>,
}

impl Mcp {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, or the backend does not answer.
    pub(crate) async fn run(self, app: &App<'_>, context: Option<&str>) -> Result<u8, Failure> {
        match self.setup {
            Some(setup) => {
                app.out.note(setup.place());
                app.out.bytes(&format!("{}\n", setup.lines(context)?))?;
            }
            None => bridge::run(app.signed_in().await?).await?,
        }
        Ok(0)
    }
}
