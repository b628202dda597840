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

    /// Returns the lines of all helps that begin with `orion`, without what explains them.
    fn examples(command: &clap::Command) -> Vec<String> {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = help.lines().filter_map(|line| line.strip_prefix("  "));
        // An ellipsis stands for what nobody types.
        let lines = lines.filter(|line| line.starts_with("orion ") && !line.contains('…'));
        let own = lines.map(|line| line.split("  ").next().unwrap_or_default().to_owned());
        let below = command.get_subcommands().filter(|it| it.get_name() != "help");
        own.chain(below.flat_map(examples)).collect()
    }

    /// Returns the words of an example: quotes hold words together, and a shell's signs end it.
    fn words(example: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
        for c in example.chars() {
            match (c, quote) {
                (c, Some(open)) if c == open => quote = None,
                ('\'' | '"', None) => quote = Some(c),
                ('|' | '<' | '>', None) => break,
                (' ', None) => {
                    words.extend(Some(std::mem::take(&mut word)).filter(|it| !it.is_empty()))
                }
                (c, _) => word.push(c),
            }
        }
        words.extend(Some(word).filter(|it| !it.is_empty()));
        words
    }

    #[test]
    fn every_example_is_a_command_line_whose_arguments_its_tool_takes() {
        let mut calls = 0;
        for example in examples(&Cli::command()) {
            let words = words(&example);
            let parsed = Cli::try_parse_from(&words);
            assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
            let [_, command, _, tool, rest @ ..] = &words[..] else { continue };
            let Some((spec, _)) = orion_catalog::find(tool) else { continue };
            if !matches!(command.as_str(), "call" | "why") {
                continue;
            }
            calls += 1;
            let schema = spec.arguments_schema();
            for argument in rest.iter().filter(|it| !it.starts_with('-')) {
                let Some((name, _)) = argument.split_once('=') else { continue };
                let name = name.trim_end_matches(':');
                assert!(schema["properties"][name].is_object(), "{example}: no {name} in {tool}");
            }
        }
        assert!(calls > 8, "only {calls} calls");
    }

    #[test]
    fn every_command_has_a_manual_page_with_its_examples() {
        let folder = tempfile::tempdir().unwrap();
        let pages = orion_usage::write_manual_pages(folder.path(), Cli::command()).unwrap();
        assert!(pages > 80, "only {pages} pages");
        let page = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(page("orion.1").contains("Exit codes"));
        assert!(page("orion-devices-rename.1").contains("laptop"));
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
