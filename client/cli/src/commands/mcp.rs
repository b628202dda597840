//! `orion mcp`: Orion's tools for programs that start their MCP servers themselves and speak over standard input and
//! output.

mod bridge;
mod setup;

use clap::Args;
use orion_domain::Hint;

use self::setup::Setup;
use crate::app::App;
use crate::context::{Context, Contexts};
use crate::failure::{Failure, quoted};

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
    /// `is_named` says whether the command line or the environment names the context or the backend.
    ///
    /// # Errors
    /// Nobody is signed in, or the backend does not answer.
    pub(crate) async fn run(self, app: &App<'_>, is_named: bool) -> Result<u8, Failure> {
        match self.setup {
            Some(setup) => {
                let context = context(&app.context, is_named)?;
                app.out.note(setup.place());
                app.out.bytes(&format!("{}\n", setup.lines(context.as_deref())?))?;
            }
            None => bridge::run(app.signed_in().await?).await?,
        }
        Ok(0)
    }
}

/// Returns the context that the pasted lines name: a program starts them in a folder of its own, and without this
/// environment. None for the person's own one that is in use wherever they are.
fn context(context: &Context, is_named: bool) -> Result<Option<String>, Failure> {
    let Context { path, backend, .. } = context;
    if !context.is_of_backend()? {
        let message = format!("you have no context for {backend}, and the program needs one");
        let login = format!("orion login --backend {}", quoted(backend));
        return Err(Failure::NotFound(message).hint(Hint::run("sign in there", login)));
    }
    if let Some(name) = Contexts::of_person().and_then(|contexts| contexts.name_of(path)) {
        return Ok(is_named.then_some(name));
    }
    let whole = std::path::absolute(path).map_err(|error| {
        Failure::Failed(format!("the place of the context is not known: {error}"))
    })?;
    Ok(Some(whole.to_string_lossy().into_owned()))
}
