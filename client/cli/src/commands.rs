//! One file a command.

pub(crate) mod approvals;
pub(crate) mod ask;
pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod chat;
pub(crate) mod completion;
pub(crate) mod demo;
pub(crate) mod devices;
pub(crate) mod extract;
pub(crate) mod login;
pub(crate) mod tools;
pub(crate) mod why;

use crate::app::App;
use crate::args::{Cli, Command};
use crate::context::{Context, Surroundings};
use crate::failure::Failure;
use crate::output::Output;

/// Runs the command and gives the exit code.
///
/// # Errors
/// Whatever keeps the command from doing what it should.
pub(crate) async fn run(cli: Cli, out: &Output) -> Result<u8, Failure> {
    let Cli { global, command } = cli;
    // These need no backend, so a broken context must not be in their way.
    match command {
        Command::Extract(command) => return command.run(out),
        Command::Completion(command) => return command.run(out),
        Command::Demo(command) => return command.run(out, &global).await,
        _ => {}
    }
    let context = Context::resolve(Surroundings::of_process(&global))?;
    if context.found {
        out.detail(&format!("context {}, backend {}", context.path.display(), context.backend));
    } else if global.context.is_some() && !matches!(command, Command::Login(_)) {
        return Err(Failure::NotFound(format!(
            "the context {} is not there; make it with `orion login --context {}`",
            context.path.display(),
            context.path.display()
        )));
    }
    let app = App::new(out, &global, context);
    match command {
        // In these Ctrl-C stops the answer first.
        Command::Chat(command) => command.run(&app).await,
        Command::Ask(command) => command.run(&app).await,
        Command::Login(command) => interruptible(command.run(&app)).await,
        Command::Call(command) => interruptible(command.run(&app)).await,
        Command::Why(command) => interruptible(command.run(&app)).await,
        Command::Tools(command) => interruptible(command.run(&app)).await,
        Command::Devices(command) => interruptible(command.run(&app)).await,
        Command::Approvals(command) => interruptible(command.run(&app)).await,
        Command::Audit(command) => interruptible(command.run(&app)).await,
        Command::Extract(_) | Command::Completion(_) | Command::Demo(_) => Ok(0),
    }
}

async fn interruptible(run: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    tokio::select! {
        end = run => end,
        _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted),
    }
}
