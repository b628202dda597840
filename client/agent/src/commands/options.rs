//! The options that say which agent of this machine is meant, in the commands that the program names.

use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory as _;

use super::Arguments;

/// This program's name in a text.
const PROGRAM: &str = "orion-agent ";

/// The options of every command as they were given: a command that is named in a text has to have them too.
#[derive(Debug, Clone, Default)]
pub(crate) struct GivenOptions {
    given: Vec<OsString>,
}

impl GivenOptions {
    pub(super) fn new(state_dir: Option<&Path>, config: Option<&Path>, system: bool) -> Self {
        let paths = [("--state-dir", state_dir), ("--config", config)];
        let paths = paths.into_iter().filter_map(|(name, path)| Some((name, path?)));
        let paths = paths.flat_map(|(name, path)| [name.into(), path.into()]);
        Self { given: paths.chain(system.then(|| "--system".into())).collect() }
    }

    /// Returns the options as arguments of a process.
    #[cfg(windows)]
    pub(super) fn as_arguments(&self) -> &[OsString] {
        &self.given
    }

    /// Returns the options as a person types them.
    fn to_text(&self) -> String {
        let words: Vec<_> = self.given.iter().map(|word| quoted(&word.to_string_lossy())).collect();
        words.join(" ")
    }

    /// Returns a text in which every command of this program has the options.
    pub(crate) fn add_to(&self, text: &str) -> String {
        if self.given.is_empty() {
            return text.to_owned();
        }
        let options = self.to_text();
        let arguments = Arguments::command();
        let is_command = |rest: &str| {
            let word = rest.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
            arguments.get_subcommands().any(|known| known.get_name() == word)
        };
        let mut parts = text.split(PROGRAM);
        let mut all = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            all.push_str(PROGRAM);
            if is_command(part) {
                all.push_str(&options);
                all.push(' ');
            }
            all.push_str(part);
        }
        all
    }
}

/// Writes a word as a shell of this system reads it.
fn quoted(word: &str) -> String {
    if cfg!(windows) {
        // No path of Windows has a double quote.
        return if word.contains(' ') { format!("\"{word}\"") } else { word.to_owned() };
    }
    // A path without NUL can be quoted, and no path has one.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_in_a_text_have_the_options_that_were_given() {
        let text = "start the agent with: orion-agent run, or `orion-agent install`; orion-agent is a name";
        assert_eq!(GivenOptions::default().add_to(text), text);
        let one = GivenOptions::new(Some(Path::new("/tmp/state")), None, false);
        assert_eq!(
            one.add_to(text),
            "start the agent with: orion-agent --state-dir /tmp/state run, or `orion-agent --state-dir /tmp/state install`; orion-agent is a name"
        );
        let system = GivenOptions::new(None, None, true);
        assert_eq!(system.add_to("orion-agent resume"), "orion-agent --system resume");
    }

    #[cfg(unix)]
    #[test]
    fn a_path_with_a_space_stays_one_word() {
        let both = GivenOptions::new(Some(Path::new("/a b")), Some(Path::new("c'd.toml")), false);
        let command = both.add_to("orion-agent resume");
        let words = shlex::split(&command).unwrap();
        assert_eq!(words, ["orion-agent", "--state-dir", "/a b", "--config", "c'd.toml", "resume"]);
    }
}
