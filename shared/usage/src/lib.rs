//! What the programs print where a command line cannot be read: the parser's error, the usage of the command, what it
//! may be followed by, and an example that can be typed. And their manual pages, and the options in commands they name.

mod manual;
mod numbers;
mod options;

use std::io::Write as _;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

pub use manual::{manual_page, write_manual_pages};
pub use options::{GivenOptions, quoted};

/// The line that the parser's errors end with. What helps more comes before it.
const MORE: &str = "\nFor more information";

/// Prints an error of the parser, or the help that was asked for. Returns the exit code of the program.
#[must_use]
pub fn report(error: Error, command: Command) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    let code = error.exit_code();
    let text = explain(error, command, std::env::args().skip(1));
    // If standard error is closed, the message is dropped.
    drop(write!(anstream::stderr().lock(), "{text}"));
    ExitCode::from(u8::try_from(code).unwrap_or(2))
}

/// Returns an error of the parser as it is printed, with escape codes for colours. `words` are the arguments that were
/// typed, without the name of the program.
#[must_use]
fn explain(mut error: Error, command: Command, words: impl Iterator<Item = String>) -> String {
    let typed = Typed::find(command, words);
    if error.get(ContextKind::Usage).is_some() {
        // The parser shows options of the environment as if they had to be typed.
        let usage = typed.command.clone().render_usage();
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
    if is_far_fetched(&error) {
        error.remove(ContextKind::SuggestedValue);
        error.remove(ContextKind::SuggestedSubcommand);
    }
    if error.kind() == ErrorKind::MissingSubcommand {
        // The help that follows says more.
        error.remove(ContextKind::Usage);
        error.remove(ContextKind::ValidSubcommand);
    }
    if error.kind() == ErrorKind::UnknownArgument {
        // Its tip takes an unknown option for a value.
        error.remove(ContextKind::Suggested);
    }
    let text = numbers::in_words(&error.render().ansi().to_string());
    match typed.help(&error) {
        Some(help) => match text.split_once(MORE) {
            Some((before, after)) => format!("{before}\n{help}\n{MORE}{after}"),
            None => format!("{text}\n{help}\n"),
        },
        None => text,
    }
}

/// Returns whether what the parser suggests is another word than a misspelling of what was typed.
fn is_far_fetched(error: &Error) -> bool {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        Some(ContextValue::Strings(texts)) => texts.last().map(String::as_str),
        _ => None,
    };
    let value = text(ContextKind::InvalidValue).zip(text(ContextKind::SuggestedValue));
    let command = text(ContextKind::InvalidSubcommand).zip(text(ContextKind::SuggestedSubcommand));
    value.or(command).is_some_and(|(typed, near)| {
        strsim::damerau_levenshtein(typed, near) * 3 > typed.chars().count()
    })
}

/// The command that was typed.
struct Typed {
    program: Command,
    command: Command,
    /// The command that lists its objects.
    list: Option<String>,
}

impl Typed {
    /// Finds the deepest command that the words name.
    fn find(mut program: Command, words: impl Iterator<Item = String>) -> Self {
        program.build();
        let mut command = program.clone();
        let (mut line, mut list) = (command.get_name().to_owned(), None);
        let name = line.clone();
        for word in words {
            if let Some(found) = command.find_subcommand(&word) {
                line = format!("{line} {}", found.get_name());
                command = found.clone();
                let lists = ["list", "history"];
                if let Some(found) = lists.iter().find(|it| command.find_subcommand(it).is_some()) {
                    list = Some(format!("{line} {found}"));
                }
            } else if line != name && !word.starts_with('-') {
                break;
            }
        }
        Self { program, command, list }
    }

    /// Returns what helps with this error beyond the parser's own text.
    fn help(&self, error: &Error) -> Option<String> {
        let kind = error.kind();
        if kind == ErrorKind::MissingSubcommand {
            return Some(self.command.clone().render_help().ansi().to_string());
        }
        if kind == ErrorKind::InvalidSubcommand {
            let names = self.command.get_subcommands().filter(|it| !it.is_hide_set());
            let names: Vec<_> = names.map(Command::get_name).collect();
            return Some(format!("Commands: {}", names.join(", ")));
        }
        if kind == ErrorKind::ValueValidation && is_a_name(error) {
            return self.list.as_ref().map(|list| format!("See which there are: {list}"));
        }
        // The message of any other error says what was expected.
        if !matches!(kind, ErrorKind::MissingRequiredArgument | ErrorKind::UnknownArgument) {
            return None;
        }
        let example = self.example().map(|line| format!("Example:\n  {line}"));
        let list = self.list_of_missing(error).map(|list| format!("See which there are: {list}"));
        let options = self.options().filter(|_| kind == ErrorKind::UnknownArgument);
        let parts: Vec<_> = [options, example, list].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("\n"))
    }

    /// Returns the command that lists what is missing: for `<TOOL>` that of `tools`, and for names that no command
    /// lists, that of the command's own objects.
    fn list_of_missing(&self, error: &Error) -> Option<String> {
        let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else {
            return None;
        };
        let mut names =
            missing.iter().filter_map(|it| it.strip_prefix('<')?.split('>').next()).peekable();
        names.peek()?;
        let listed = names.find_map(|name| {
            let objects = self.program.find_subcommand(format!("{}s", name.to_lowercase()))?;
            let list = objects.find_subcommand("list")?;
            Some(format!("{} {} {}", self.program.get_name(), objects.get_name(), list.get_name()))
        });
        listed.or_else(|| self.list.clone())
    }

    /// Returns the first example of the command's help.
    fn example(&self) -> Option<String> {
        let help = self.command.get_after_help()?.to_string();
        let line = help.lines().find_map(|line| line.strip_prefix("  orion"))?;
        // An explanation follows after two spaces.
        let line = line.split("  ").next()?;
        Some(format!("orion{line}"))
    }

    /// Returns the options that only this command has. None if it has none.
    fn options(&self) -> Option<String> {
        let own =
            self.command.get_arguments().filter(|it| !it.is_global_set() && !it.is_hide_set());
        let own = own.filter(|it| !matches!(it.get_id().as_str(), "help" | "version"));
        let names: Vec<_> =
            own.filter_map(|it| it.get_long().map(|name| format!("--{name}"))).collect();
        (!names.is_empty()).then(|| format!("Options: {}", names.join(", ")))
    }
}

/// Returns whether the error is about an argument without a name, such as an id.
fn is_a_name(error: &Error) -> bool {
    matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(about)) if about.starts_with('<'))
}

#[cfg(test)]
mod tests;
