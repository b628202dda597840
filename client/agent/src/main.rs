//! `orion-agent`: one device of Orion.

mod commands;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use commands::{Arguments, Failure};
use orion_domain::FailureText;
use orion_usage::GivenOptions;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The next step after an error that names none.
const OTHERWISE: &str = "correct it and run the command again";

/// Threads that wait for the disk or the system: one for each call in flight, one for each call that missed
/// its deadline, and some for the agent itself.
const MAX_BLOCKING_THREADS: usize = 64;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) =
        orion_agent::process::internal_command(std::env::args_os().nth(1).as_deref())
    {
        return code;
    }
    // Each call has a thread.
    orion_allocator::purge_at_once();
    #[cfg(target_os = "linux")]
    orion_agent::process::use_small_pages();
    #[cfg(target_os = "linux")]
    if let Some(code) =
        orion_agent::workers::internal_command(std::env::args_os().nth(1).as_deref())
    {
        return code;
    }
    orion_mtls::install_crypto_provider();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return orion_usage::report(error, Arguments::command()),
    };
    let filter = std::env::var("ORION_LOG").ok().and_then(|text| text.parse::<Targets>().ok());
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    tracing_subscriber::registry()
        .with(filter.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO)))
        .with(tracing_subscriber::fmt::layer().with_ansi(colours).with_writer(std::io::stderr))
        .init();

    #[cfg(windows)]
    if arguments.is_service() {
        let options = arguments.options();
        let served = orion_agent::service::serve(|shutdown| execute(arguments, shutdown));
        let failed = |error| report(Failure::from(anyhow::Error::from(error)), &options);
        return ExitCode::from(served.map_or_else(failed, |()| 0));
    }
    ExitCode::from(execute(arguments, CancellationToken::new()))
}

/// Runs the command, and returns the exit code. `shutdown` ends `run`.
fn execute(arguments: Arguments, shutdown: CancellationToken) -> u8 {
    let options = arguments.options();
    // One thread does everything except the tools' work, so that an idle agent costs nothing.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(commands::run(arguments, shutdown));
            // The shutdown does not wait for a tool that hangs on the disk.
            runtime.shutdown_timeout(std::time::Duration::from_secs(1));
            result
        }
        Err(error) => Err(Failure::from(anyhow::Error::from(error))),
    };
    result.map_or_else(|failure| report(failure, &options), |()| 0)
}

/// Says why the command failed, and returns the exit code.
fn report(Failure { error, code }: Failure, options: &GivenOptions) -> u8 {
    let causes = error.chain().map(ToString::to_string);
    let text = options.add_to(&FailureText::of(causes, OTHERWISE).to_string());
    // If standard error is closed, the message is dropped.
    drop(writeln!(std::io::stderr(), "{text}"));
    code
}
