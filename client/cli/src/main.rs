//! `orion`: the command line for people and scripts. Data goes to standard output, everything else to
//! standard error; the exit code tells a script what happened.

mod app;
mod args;
mod arguments;
mod call_result;
mod chat;
mod client;
mod commands;
mod complete;
mod context;
mod failure;
mod follow;
mod global;
mod input;
mod json;
mod output;
mod show;
mod terminal;
mod text;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory as _, Parser as _};
use clap_complete::CompleteEnv;

use crate::args::Cli;
use crate::output::Output;

fn main() -> ExitCode {
    CompleteEnv::with_factory(Cli::command).complete();
    let Cli { global, command } = Cli::parse();
    let output = Output::new(&global);
    let runtime =
        match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                output.error_line(&format!("error: threads cannot be started: {error}"));
                return ExitCode::FAILURE;
            }
        };
    let code = match runtime.block_on(commands::run(command, &global, &output)) {
        Ok(code) => code,
        Err(failure) => {
            output.failure(&failure);
            failure.exit_code()
        }
    };
    // A prompt that still waits for a key must not delay the exit.
    runtime.shutdown_timeout(Duration::ZERO);
    ExitCode::from(code)
}
