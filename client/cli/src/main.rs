//! `orion`: the command line for people and scripts. Data goes to standard output, everything else to
//! standard error; the exit code tells a script what happened.

mod app;
mod approval;
mod args;
mod arguments;
mod call_result;
mod chat;
mod client;
mod columns;
mod commands;
mod complete;
mod context;
mod failure;
mod follow;
mod global;
mod input;
mod interrupt;
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
    let Cli { global, command } = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return orion_usage::report(error, Cli::command()),
    };
    let output = Output::new(&global, &Cli::command());
    let runtime =
        match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                output.error_line(&format!("error: threads cannot be started: {error}"));
                return ExitCode::FAILURE;
            }
        };
    let code = match runtime.block_on(commands::run(command, &global, &output, Cli::command())) {
        Ok(code) => code,
        Err(failure) => {
            let (line, list) = command_line(std::env::args().skip(1));
            let failure = failure.with_next_step(&line, list);
            output.failure(&failure);
            failure.exit_code()
        }
    };
    // A prompt that still waits for a key must not delay the exit.
    runtime.shutdown_timeout(Duration::ZERO);
    ExitCode::from(code)
}

/// Returns the command with its subcommands as they are written, and the command that lists its objects, if there is
/// one.
fn command_line(words: impl Iterator<Item = String>) -> (String, Option<String>) {
    let (mut command, mut line, mut list) = (Cli::command(), "orion".to_owned(), None);
    let is_list = |command: &clap::Command| command.find_subcommand("list").is_some();
    for word in words {
        if let Some(found) = command.find_subcommand(&word) {
            line = format!("{line} {}", found.get_name());
            command = found.clone();
            if is_list(&command) {
                list = Some(format!("{line} list"));
            }
        } else if line.contains(' ') && !word.starts_with('-') {
            break;
        }
    }
    (line, list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_found_between_options_and_values() {
        let found = |line: &str| command_line(line.split(' ').map(str::to_owned));
        let devices = Some("orion devices list".to_owned());
        assert_eq!(found("devices show kiosk"), ("orion devices show".to_owned(), devices.clone()));
        assert_eq!(
            found("--context work -o json devices list all"),
            ("orion devices list".to_owned(), devices)
        );
        assert_eq!(found("call kiosk read_file"), ("orion call".to_owned(), None));
    }
}
