//! The options that say which agent, backend or context is meant, in the commands that a program names.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;

/// The options of every command as they were given: a command that is named in a text has to have them too.
#[derive(Debug, Clone)]
pub struct GivenOptions {
    program: &'static str,
    commands: Vec<String>,
    given: Vec<OsString>,
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
        match self.given.iter().position(|word| word == name) {
            Some(at) => self.given[at + 1] = value,
            None => self.given.extend([name.into(), value]),
        }
        self
    }

    /// Adds an option without a value, where it was given.
    #[must_use]
    pub fn flag(mut self, name: &str, is_given: bool) -> Self {
        self.given.extend(is_given.then(|| name.into()));
        self
    }

    /// Returns the options as arguments of a process.
    #[must_use]
    pub fn as_arguments(&self) -> &[OsString] {
        &self.given
    }

    /// Returns the options as a person types them, each after a space.
    #[must_use]
    pub fn typed(&self) -> String {
        self.given.iter().map(|word| format!(" {}", quoted(&word.to_string_lossy()))).collect()
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
            if begins_word(all.strip_suffix(name).unwrap_or_default()) && self.is_command(after) {
                let command = after.split(['`', '\n', ',', ';']).next().unwrap_or_default();
                let missing = Self { given: self.without_named(command), ..Self::none() };
                all.push_str(&missing.typed());
            }
            rest = after;
        }
        all + rest
    }

    /// Returns the options that a command does not name, each with its value.
    fn without_named(&self, command: &str) -> Vec<OsString> {
        let mut is_named = false;
        let is_missing = |word: &&OsString| {
            if let Some(option) = word.to_str().filter(|word| word.starts_with("--")) {
                is_named = command.split_whitespace().any(|word| word == option);
            }
            !is_named
        };
        self.given.iter().filter(is_missing).cloned().collect()
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
        let named = "`orion-agent run --state-dir /x`, or orion-agent install";
        assert_eq!(
            one.add_to(named),
            "`orion-agent run --state-dir /x`, or orion-agent --state-dir /tmp/state install"
        );
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
