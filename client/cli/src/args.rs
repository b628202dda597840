//! The whole command line as one type.

use clap::Parser;

use crate::commands::Command;
use crate::global::Global;

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
  orion chat                                            chat with a model that calls tools
  orion call laptop-123 create_directory path=Test      one tool call
  orion undo 0199b2c4-7f3e-7c11                         take that call back
  orion why laptop-123 read_file path=/etc/passwd       what each layer says to a call
  orion approvals list                                  what waits for approval

Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 sign-in needed, 5 denied, 6 approval needed,
refused or expired, 7 device offline, 8 timed out or unknown, 9 conflict, 130 interrupted."
)]
pub(crate) struct Cli {
    /// The options of every command.
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
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
}
