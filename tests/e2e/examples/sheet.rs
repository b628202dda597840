//! The tables of rules, a file for each world beside this one: how an example is prepared, how it ends, and what it
//! leaves on disk. Without a rule, an example ends with 0 and leaves nothing.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::collect::{Examples, PROGRAMS};

/// The worlds, by the names of their tables.
pub(super) const WORLDS: [&str; 8] =
    ["calls", "chats", "decisions", "fleet", "people", "signing_in", "programs", "demo"];

/// The table of one world.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sheet {
    /// What the examples begin with that run here. The longest beginning of all tables counts.
    pub(super) commands: Vec<String>,
    /// Functions for the shell lines of the rules.
    #[serde(default)]
    pub(super) functions: String,
    /// The files that are in the working directory before each example.
    #[serde(default)]
    pub(super) work: BTreeMap<String, String>,
    /// The files of each device before each example.
    #[serde(default)]
    pub(super) devices: BTreeMap<String, BTreeMap<String, String>>,
    /// The rules. That with the longest matching beginning counts.
    #[serde(default, rename = "rule")]
    pub(super) rules: Vec<Rule>,
}

/// How the examples with one beginning are run.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    /// What the example begins with, up to the end of a word.
    pub(super) example: String,
    /// Shell lines that prepare it. The last line that they print stands for an id in the example, and is `$ID`.
    #[serde(default)]
    pub(super) before: String,
    /// Texts of the example, and what stands for them here.
    #[serde(default)]
    pub(super) with: BTreeMap<String, String>,
    /// Standard input.
    #[serde(default)]
    pub(super) stdin: String,
    /// What a person at a terminal waits for and types; `^C` and `^D` are keys, `@NAME` is the content of
    /// a scratch file, and nothing is typed for an empty text. Empty where it needs no terminal.
    #[serde(default)]
    pub(super) typed: Vec<(String, String)>,
    /// It runs until it is ended: what it says when it works. It is then interrupted.
    pub(super) until: Option<String>,
    /// The exit code.
    #[serde(default)]
    pub(super) exit: i32,
    /// What its output contains.
    #[serde(default)]
    pub(super) says: Vec<String>,
    /// What it leaves on disk: `+` new, `-` gone, `~` changed; `…/**` is all of a folder.
    #[serde(default)]
    pub(super) leaves: Vec<String>,
    /// Shell lines that take back what later examples would miss.
    #[serde(default)]
    pub(super) after: String,
    /// Why it cannot be run in a test.
    pub(super) left_out: Option<String>,
}

impl Sheet {
    /// Reads the table of a world.
    pub(super) fn of(world: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e/examples");
        let path = folder.join(format!("{world}.toml"));
        let text = std::fs::read_to_string(&path).unwrap();
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Returns the rule of an example.
    pub(super) fn rule(&self, example: &str) -> Option<&Rule> {
        let matching = self.rules.iter().filter(|rule| begins(example, &rule.example));
        matching.max_by_key(|rule| rule.example.len())
    }

    /// Returns where an example stands in the order of the rules, in which they run. Those without one come last.
    fn position(&self, example: &str) -> usize {
        let rule = self.rule(example).map(|rule| &rule.example);
        let place = self.rules.iter().position(|it| Some(&it.example) == rule);
        place.unwrap_or(usize::MAX)
    }

    /// Returns the rules that no example uses.
    pub(super) fn unused<'a>(&'a self, examples: &[&str]) -> Vec<&'a str> {
        let used = |rule: &Rule| {
            examples.iter().any(|it| self.rule(it).is_some_and(|of| of.example == rule.example))
        };
        self.rules.iter().filter(|it| !used(it)).map(|rule| rule.example.as_str()).collect()
    }
}

/// Returns whether a text begins with these words.
fn begins(text: &str, beginning: &str) -> bool {
    let rest = text.strip_prefix(beginning);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '/', '=', '.']))
}

/// Returns the world of an example.
pub(super) fn world_of(example: &str, sheets: &[(&'static str, Sheet)]) -> Option<&'static str> {
    let matching = sheets.iter().flat_map(|(world, sheet)| {
        sheet.commands.iter().filter(|it| begins(example, it)).map(move |it| (it.len(), *world))
    });
    matching.max().map(|(_, world)| world)
}

/// Returns the examples of a world, in the order in which they run.
pub(super) fn examples_of<'a>(world: &str, examples: &'a Examples) -> Vec<&'a str> {
    let sheets: Vec<_> = WORLDS.iter().map(|it| (*it, Sheet::of(it))).collect();
    let here = |example: &&String| world_of(example, &sheets) == Some(world);
    let mut here: Vec<_> = examples.keys().filter(here).map(String::as_str).collect();
    let sheet = Sheet::of(world);
    here.sort_by_key(|example| sheet.position(example));
    here
}

/// Returns the example with `id` in the place of each id.
pub(super) fn with_id(example: &str, id: &str) -> String {
    let is_id = |word: &str| {
        let (first, rest) = word.split_once('-').unwrap_or((word, ""));
        first.len() == 8
            && !rest.is_empty()
            && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
    };
    let words = example.split(' ').map(|word| match word {
        "ID" | "CALL_ID" | "[id]" => id.to_owned(),
        word if is_id(word.trim_end_matches(';')) => {
            let end = &word[word.trim_end_matches(';').len()..];
            format!("{id}{end}")
        }
        word => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn ids_are_replaced_wherever_they_are_words() {
    assert_eq!(with_id("orion undo 0199b2c4-7f3e-7c11 --dry-run", "x"), "orion undo x --dry-run");
    assert_eq!(with_id("a 01a1fc13-f72a-727b-a838-c743fc081867; b", "x"), "a x; b");
    assert_eq!(
        with_id("orion plan call laptop-123,kiosk a=b", "x"),
        "orion plan call laptop-123,kiosk a=b"
    );
    assert!(begins("orion calls list", "orion calls") && !begins("orion calls", "orion call"));
    assert!(PROGRAMS.iter().all(|name| begins(name, name)));
}
