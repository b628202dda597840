//! `orion-agent`: one device of Orion.

mod commands;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use commands::{Arguments, Failure};

fn main() -> ExitCode {
    orion_mtls::install_crypto_provider();
    let arguments = Arguments::parse();
    let filter = tracing_subscriber::EnvFilter::try_from_env("ORION_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();

    // One thread does everything but the tools' own work: an idle agent should cost nothing.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(32).build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(commands::run(arguments));
            // A tool that hangs in the disk is not waited for.
            runtime.shutdown_timeout(std::time::Duration::from_secs(1));
            result
        }
        Err(error) => Err(Failure::from(anyhow::Error::from(error))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { error, code }) => {
            // Many errors quote their cause already; it need not be said twice.
            let mut text = String::from("orion-agent");
            for cause in error.chain().map(ToString::to_string) {
                if !text.contains(&cause) {
                    text.push_str(": ");
                    text.push_str(&cause);
                }
            }
            // Where standard error is gone there is nobody to tell.
            drop(writeln!(std::io::stderr(), "{text}"));
            ExitCode::from(code)
        }
    }
}
