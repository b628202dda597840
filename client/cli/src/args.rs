//! The whole command line as types.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands;

/// Drives devices by talking to a language model, safely.
#[derive(Debug, Parser)]
#[command(
    name = "orion",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  orion demo                                            everything on this machine, then a chat
  orion login --secret @first-admin-secret              sign in at a new backend
  orion chat                                            talk to the fleet
  orion call laptop-123 create_directory path=Test      one tool call
  orion undo 0199b2c4-7f3e-7c11                         take that call back
  orion why laptop-123 read_file path=/etc/passwd       what each layer says to a call
  orion approvals list                                  what waits for a yes

Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 sign-in needed, 5 denied, 6 approval needed,
refused or expired, 7 device offline, 8 timed out or unknown, 9 conflict, 130 interrupted."
)]
pub(crate) struct Cli {
    /// What holds for every command.
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What holds for every command.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Global {
    /// How data is printed
    #[arg(short, long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,
    /// Print data and errors only
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Say more about what happens
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Answer questions with yes, approvals included
    #[arg(short, long, global = true)]
    pub(crate) yes: bool,
    /// How long it may take: 30s, 5m, 1h
    #[arg(long, global = true, value_parser = duration, value_name = "TIME")]
    pub(crate) timeout: Option<Duration>,
    /// File that says which backend, and as whom
    #[arg(long, global = true, env = "ORION_CONTEXT", value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
    /// The backend's address, over the context's
    #[arg(long, global = true, env = "ORION_BACKEND", value_name = "URL")]
    pub(crate) backend: Option<String>,
}

/// How data is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Table,
    /// For people, with every column
    Wide,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a backend and a device on this machine, and talk to them
    Demo(commands::demo::Demo),
    /// Sign in, and remember where
    Login(commands::login::Login),
    /// Sign out, here or everywhere
    Logout(commands::logout::Logout),
    /// Talk to the fleet
    Chat(commands::chat::Chat),
    /// Say one thing to the fleet
    Ask(commands::ask::Ask),
    /// Call one tool on one device
    Call(commands::call::Call),
    /// What is under way, what waits for a device, and how a call goes on
    Calls(commands::calls::Calls),
    /// Several calls, shown together and approved once
    Plan(commands::plan::Plan),
    /// Take back what a call changed
    Undo(commands::undo::Undo),
    /// Show what each layer says to a call, without making it
    Why(commands::why::Why),
    /// The tools that there are
    Tools(commands::tools::Tools),
    /// The devices and what they lend
    Devices(commands::devices::Devices),
    /// What may happen on each device, as one file with versions
    Policy(commands::policy::Policy),
    /// What waits for approval
    Approvals(commands::approvals::Approvals),
    /// Who may sign in, and as what
    Users(commands::users::Users),
    /// What programs sign in with
    Tokens(commands::tokens::Tokens),
    /// The record of everything
    Audit(commands::audit::Audit),
    /// Print the tool calls in a model's text
    Extract(commands::extract::Extract),
    /// Print the completion script of a shell
    Completion(commands::completion::Completion),
}

/// Parses `30s`, `5m`, `1h 30m`, `500ms`; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(Duration::from_secs(seconds.into()));
    }
    let signed: jiff::SignedDuration =
        text.parse().map_err(|_| "write a time like 30s, 5m or 1h".to_owned())?;
    Duration::try_from(signed).map_err(|_| "a time cannot be negative".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_worked_examples() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("orion "), "`{}` shows no example", command.get_name());
            command.get_subcommands().filter(|c| c.get_name() != "help").for_each(check);
        }
        check(&Cli::command());
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h 30m"), Ok(Duration::from_secs(5400)));
        assert!(duration("soon").is_err());
        assert!(duration("-5s").is_err());
    }
}
