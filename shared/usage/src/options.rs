//! The options that say which agent, backend or context is meant, in the commands that a program names.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;

/// The options of every command as they were given: a command that is named in a text has to have them too.
#[derive(Debug, Clone)]
pub struct GivenOptions {
    program: &'static str,
    commands: Vec<String>,
    /// Each option with its value. None for one that takes no value.
    given: Vec<(String, Option<OsString>)>,
}

impl GivenOptions {
    /// Creates the value without any option.
    #[must_use]
    pub const fn none() -> Self {
        Self { program: "", commands: Vec::new(), given: Vec::new() }
    }

    /// Creates the value for a program with these commands, without any option.
    #[must_use]
    pub fn of(program: &'static str, commands: &Command) -> Self {
        Self::with_names(program, commands.get_subcommands().map(Command::get_name))
    }

    fn with_names<'a>(program: &'static str, names: impl Iterator<Item = &'a str>) -> Self {
        Self { program, commands: names.map(str::to_owned).collect(), given: Vec::new() }
    }

    /// Leaves out commands that mean the same without the options.
    #[must_use]
    pub fn except(mut self, commands: &[&str]) -> Self {
        self.commands.retain(|command| !commands.contains(&command.as_str()));
        self
    }

    /// Adds an option with its value, where it was given. It replaces an earlier value of the option.
    #[must_use]
    pub fn value(mut self, name: &str, value: Option<impl AsRef<Path>>) -> Self {
        let Some(value) = value.map(|value| value.as_ref().as_os_str().to_owned()) else {
            return self;
        };
        match self.given.iter_mut().find(|(option, _)| option == name) {
            Some((_, earlier)) => *earlier = Some(value),
            None => self.given.push((name.to_owned(), Some(value))),
        }
        self
    }

    /// Adds an option without a value, where it was given.
    #[must_use]
    pub fn flag(mut self, name: &str, is_given: bool) -> Self {
        self.given.extend(is_given.then(|| (name.to_owned(), None)));
        self
    }

    /// Returns the options as arguments of a process.
    #[must_use]
    pub fn as_arguments(&self) -> Vec<OsString> {
        let words = |(option, value): &(String, Option<OsString>)| {
            [Some(OsString::from(option)), value.clone()].into_iter().flatten()
        };
        self.given.iter().flat_map(words).collect()
    }

    /// Returns the options as a person types them, each after a space.
    #[must_use]
    pub fn typed(&self) -> String {
        let words = self.as_arguments().into_iter();
        words.map(|word| format!(" {}", quoted(&word.to_string_lossy()))).collect()
    }

    /// Returns a text in which every command of this program has the options, but for those that it names itself.
    #[must_use]
    pub fn add_to(&self, text: &str) -> String {
        if self.given.is_empty() || self.program.is_empty() {
            return text.to_owned();
        }
        let mut rest = text;
        let mut all = String::with_capacity(text.len());
        while let Some(at) = rest.find(self.program) {
            let (before, found) = rest.split_at(at);
            let (name, after) = found.split_at(self.program.len());
            all.push_str(before);
            all.push_str(name);
            let before = all.strip_suffix(name).unwrap_or_default();
            if begins_word(before) && self.is_command(after) {
                let command = self.command(before.ends_with('`'), after);
                all.push_str(&self.missing_in(command).typed());
            }
            rest = after;
        }
        all + rest
    }

    /// Returns the rest of a command: in a text it ends with its backtick, or else before what no command goes on with.
    fn command<'a>(&self, is_marked: bool, after: &'a str) -> &'a str {
        if is_marked {
            return after.split('`').next().unwrap_or_default();
        }
        let after = after.split(self.program).next().unwrap_or_default();
        let mut quote = None;
        let ends = |c: char| {
            match quote {
                Some(open) if open == c => quote = None,
                Some(_) => {}
                None if matches!(c, '\'' | '"') => quote = Some(c),
                None => return matches!(c, '\n' | '`' | ')' | ',' | ';'),
            }
            false
        };
        after.split(ends).next().unwrap_or_default()
    }

    /// Returns the options that a command does not name itself.
    fn missing_in(&self, command: &str) -> Self {
        let is_named = |option: &str| {
            command.split_whitespace().any(|word| word.split('=').next() == Some(option))
        };
        let given = self.given.iter().filter(|(option, _)| !is_named(option)).cloned().collect();
        Self { given, ..Self::none() }
    }

    /// Returns whether what follows the program's name is a command of it.
    fn is_command(&self, after: &str) -> bool {
        let Some(words) = after.strip_prefix(' ') else { return false };
        let end = words.find(|c: char| !c.is_ascii_lowercase() && c != '-');
        let (word, after) = words.split_at(end.unwrap_or(words.len()));
        let ends =
            after.chars().next().is_none_or(|c| c.is_whitespace() || "`'\",.;:!?)".contains(c));
        ends && self.commands.iter().any(|command| command == word)
    }
}

/// Returns whether a word may begin after this text, which no path or longer name does.
fn begins_word(before: &str) -> bool {
    before.chars().next_back().is_none_or(|c| c.is_whitespace() || "`'\"(".contains(c))
}

/// Writes a word as a shell of this system reads it.
#[must_use]
pub fn quoted(word: &str) -> String {
    if cfg!(windows) {
        if word.is_empty() {
            return "\"\"".to_owned();
        }
        let is_plain = |c: char| c.is_alphanumeric() || "_.:\\/~-".contains(c);
        if word.chars().all(is_plain) {
            return word.to_owned();
        }
        // No path of Windows has a double quote, and a backslash before one would escape it.
        return format!("\"{}\"", word.trim_end_matches('\\'));
    }
    // A path without NUL can be quoted, and no path has one.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> GivenOptions {
        GivenOptions::with_names("orion-agent", ["run", "install", "resume", "man"].into_iter())
            .except(&["man"])
    }

    #[test]
    fn commands_in_a_text_have_the_options_that_were_given() {
        let text = "start the agent with: orion-agent run, or `orion-agent install`; orion-agent is a name";
        assert_eq!(none().add_to(text), text);
        let one = none().value("--state-dir", Some("/tmp/state"));
        let with = one.add_to(text);
        assert_eq!(
            with,
            "start the agent with: orion-agent --state-dir /tmp/state run, or `orion-agent --state-dir /tmp/state install`; orion-agent is a name"
        );
        assert_eq!(one.add_to(&with), with, "what has options gets no further ones");
        let other = one.clone().value("--state-dir", Some("/srv"));
        assert_eq!(other.add_to("orion-agent run!"), "orion-agent --state-dir /srv run!");
        let system = none().flag("--system", true);
        assert_eq!(system.add_to("orion-agent resume"), "orion-agent --system resume");
        assert_eq!(none().flag("--system", false).add_to(text), text);
    }

    #[test]
    fn an_option_that_a_command_names_itself_is_not_added() {
        let one = none().value("--state-dir", Some("--odd"));
        for (text, with) in [
            (
                "`orion-agent run --state-dir /x`, or orion-agent install",
                "`orion-agent run --state-dir /x`, or orion-agent --state-dir --odd install",
            ),
            (
                "orion-agent run or orion-agent install --state-dir=/x",
                "orion-agent --state-dir --odd run or orion-agent install --state-dir=/x",
            ),
            (
                "as its owner (orion-agent run) with --state-dir",
                "as its owner (orion-agent --state-dir --odd run) with --state-dir",
            ),
            ("orion-agent run '/a, b' --state-dir /x", "orion-agent run '/a, b' --state-dir /x"),
        ] {
            assert_eq!(one.add_to(text), with);
        }
    }

    #[test]
    fn paths_and_other_programs_stay_as_they_are() {
        let one = none().flag("--system", true);
        for text in [
            "/home/orion-agent run",
            "my-orion-agent run",
            "orion-agent run/x",
            "orion-agents run",
            "orion-agent man",
        ] {
            assert_eq!(one.add_to(text), text);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_path_with_a_space_stays_one_word() {
        let both = none().value("--state-dir", Some("/a b")).value("--config", Some("c'd.toml"));
        let words = shlex::split(&both.add_to("orion-agent resume")).unwrap();
        assert_eq!(words, ["orion-agent", "--state-dir", "/a b", "--config", "c'd.toml", "resume"]);
    }
}
