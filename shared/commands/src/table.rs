//! The grammars that are compiled in, parsed once.

use std::sync::LazyLock;

use crate::grammar::Grammar;

macro_rules! grammars {
    ($($name:literal)+) => {
        /// Each grammar file with its text.
        pub(crate) const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../grammars/", $name, ".toml"))),)+];
    };
}

grammars! {
    "git" "ls"
}

/// A grammar that does not parse is left out, so that its program asks; a test parses each.
static GRAMMARS: LazyLock<Vec<Grammar>> =
    LazyLock::new(|| FILES.iter().filter_map(|(_, text)| toml::from_str(text).ok()).collect());

/// Returns every grammar, in the order of the table.
pub(crate) fn grammars() -> &'static [Grammar] {
    &GRAMMARS
}

/// Returns the grammar of a program, with the name that matched.
pub(crate) fn find(program: &str) -> Option<(&'static str, &'static Grammar)> {
    grammars().iter().find_map(|grammar| {
        let names = std::iter::once(&grammar.program).chain(&grammar.also);
        names.map(String::as_str).find(|name| *name == program).map(|name| (name, grammar))
    })
}

/// What a grammar covers, for the documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The names of the programs.
    pub programs: Vec<&'static str>,
    /// What is covered, in one sentence.
    pub covers: &'static str,
}

/// Returns what each grammar covers, in the order of the table.
pub fn summaries() -> impl Iterator<Item = Summary> {
    grammars().iter().map(|grammar| Summary {
        programs: std::iter::once(&grammar.program)
            .chain(&grammar.also)
            .map(String::as_str)
            .collect(),
        covers: &grammar.summary,
    })
}
