//! A program's grammar: which options and arguments are known, and what a command with them does.
//!
//! Grammars are TOML files; `docs/commands.md` describes every key.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::judgement::Effect;
use crate::value::Value;

/// How a program reads its options.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Style {
    /// `-la`, `-n5`, `--name=value`, and `--` ends the options.
    #[default]
    Getopt,
    /// As `getopt`, and `-n=5` and `--flag=false` as well.
    Pflag,
    /// `-name` is one option, `-name=value` sets it, `--name` is the same, and `--` ends the options.
    Go,
    /// Each option is exactly one word, also a word without a dash. Nothing ends the options.
    Words,
}

/// A grammar file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Grammar {
    /// The name on the device's PATH.
    pub(crate) program: String,
    /// Other programs with the same command line.
    #[serde(default)]
    pub(crate) also: Vec<String>,
    /// What is covered, in one sentence, for the documentation.
    pub(crate) summary: String,
    #[serde(default)]
    pub(crate) style: Style,
    /// Whether options of the program may follow its subcommand.
    #[serde(default)]
    pub(crate) global_options: bool,
    /// Variables that the runner sets.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    /// The command without a subcommand.
    #[serde(default)]
    pub(crate) line: Node,
    /// The subcommands. A name may list several, separated by spaces.
    #[serde(default)]
    pub(crate) sub: BTreeMap<String, Node>,
    /// Commands with the expected judgement; a test checks each.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests check the examples"))]
    pub(crate) examples: Examples,
}

/// Commands by the judgement that they must get.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Examples {
    pub(crate) reads: Vec<String>,
    pub(crate) writes: Vec<String>,
    pub(crate) project: Vec<String>,
    pub(crate) asks: Vec<String>,
    pub(crate) refuses: Vec<String>,
}

/// A program or a subcommand.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Node {
    /// What the command does. Without it, it asks.
    pub(crate) effect: Option<Effect>,
    /// Why it asks.
    pub(crate) why: Option<String>,
    /// Whether it connects to hosts that the project's or the user's configuration names.
    pub(crate) network: bool,
    /// Whether it works in the working directory. Subcommands inherit it.
    pub(crate) here: Option<bool>,
    /// Options without a value, separated by spaces.
    pub(crate) flags: Words,
    /// Options with the kind of their value. `?` behind the kind: the value is optional and attached.
    pub(crate) values: Options,
    /// Options that ask, with the reason.
    pub(crate) asks_with: BTreeMap<Words, String>,
    /// Options with which the command only reads.
    pub(crate) reads_with: Words,
    /// Options with which the command writes and does nothing else.
    pub(crate) only_writes_with: Words,
    /// Options with which the command writes.
    pub(crate) writes_with: Words,
    /// Options with which the command runs project code.
    pub(crate) project_with: Words,
    /// Whether `-20` is an option.
    pub(crate) digits: bool,
    /// The positional arguments, in their order.
    pub(crate) positionals: Kinds,
    /// What the command does if it has positional arguments.
    pub(crate) with_positionals: Option<Effect>,
    /// Options that take the place of the first positional argument.
    pub(crate) first_given_by: Words,
    /// The path that is read where none is given.
    pub(crate) default_path: Option<String>,
    /// The kind of everything after `--`. Without it, positional arguments follow.
    pub(crate) rest: Option<Kinds>,
    /// Arguments that the runner inserts behind the name of the program or the subcommand.
    pub(crate) fixed: Vec<String>,
    /// Subcommands of this one.
    pub(crate) sub: BTreeMap<String, Node>,
    /// The program whose grammar continues here.
    pub(crate) same_as: Option<String>,
}

/// Names separated by spaces.
#[derive(Debug, Default, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(from = "String")]
pub(crate) struct Words(pub(crate) Vec<String>);

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self(text.split_whitespace().map(ToOwned::to_owned).collect())
    }
}

impl Words {
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|word| word == name)
    }
}

/// Kinds separated by spaces.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Kinds(pub(crate) Vec<Value>);

impl TryFrom<String> for Kinds {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parse = |kind: &str| Value::parse(kind).ok_or_else(|| format!("no kind: {kind}"));
        text.split_whitespace().map(parse).collect::<Result<_, _>>().map(Self)
    }
}

/// Options with the kind of their value.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "BTreeMap<Words, String>")]
pub(crate) struct Options(pub(crate) BTreeMap<String, Value>);

impl TryFrom<BTreeMap<Words, String>> for Options {
    type Error = String;

    fn try_from(raw: BTreeMap<Words, String>) -> Result<Self, String> {
        let mut options = BTreeMap::new();
        for (names, kind) in raw {
            let value = Value::parse(&kind).ok_or_else(|| format!("no kind: {kind}"))?;
            for name in names.0 {
                if options.insert(name.clone(), value.clone()).is_some() {
                    return Err(format!("{name} is listed twice"));
                }
            }
        }
        Ok(Self(options))
    }
}

impl Node {
    /// Returns the value of an option. The outer None: the option is not known; the inner: it has no value.
    pub(crate) fn option(&self, name: &str) -> Option<Option<&Value>> {
        let asks = || self.asks_with.keys().any(|names| names.contains(name));
        match self.values.0.get(name) {
            Some(value) => Some(Some(value)),
            None => (self.flags.contains(name) || asks()).then_some(None),
        }
    }
}

/// Returns the node of a subcommand.
pub(crate) fn find_sub<'g>(subs: &'g BTreeMap<String, Node>, name: &str) -> Option<&'g Node> {
    subs.iter().find(|(names, _)| names.split(' ').any(|it| it == name)).map(|(_, node)| node)
}
