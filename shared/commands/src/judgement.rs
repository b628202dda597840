//! What a command would do, and why it asks.

use std::fmt;

use orion_domain::{Access, Risk};
use serde::Deserialize;

use crate::line::Token;
use crate::refusal::{Refusal, shown};

/// What a command does, by its grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It only reads.
    Reads,
    /// It writes the paths that it names, or in the working directory.
    Writes,
    /// It runs code of the project in the working directory: its tests, its build or its scripts.
    #[serde(rename = "project")]
    RunsProject,
    /// It deletes the paths that it names.
    Deletes,
    /// It does something else, which always asks.
    #[serde(rename = "asks")]
    Other,
}

impl Effect {
    /// Returns the effect as the end of a sentence about the command.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Reads => "only reads",
            Self::Writes => "writes files",
            Self::RunsProject => "runs the project's own code",
            Self::Deletes => "deletes files",
            Self::Other => "makes a change that its grammar does not bound",
        }
    }
}

/// The hosts to which a command connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// None.
    None,
    /// Hosts that the arguments name, those of addresses with their ports.
    Hosts(Vec<String>),
    /// Hosts that the project's or the user's configuration names, and those of the arguments.
    Configured(Vec<String>),
}

/// How a command names its program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// By a name, which the device looks up in its own PATH.
    Name(String),
    /// By a path. No grammar applies to it, whatever its last component is.
    Path(String),
}

impl Program {
    /// Creates it from the first word of a command.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        let is_path = word.contains(['/', '\\']) || matches!(word, "." | "..");
        if is_path { Self::Path(word.to_owned()) } else { Self::Name(word.to_owned()) }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(text) | Self::Path(text) => f.write_str(&shown(text)),
        }
    }
}

/// Why a command asks for a person's approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskReason {
    /// The grammar does not list the option.
    UnknownOption,
    /// The option may stand for a longer one that the grammar lists.
    Abbreviation(&'static str),
    /// The grammar does not list the subcommand.
    UnknownSubcommand,
    /// The command has more arguments than the grammar knows.
    UnexpectedArgument,
    /// An argument or a value is missing behind this token.
    MissingArgument,
    /// The value is not of the kind that the grammar expects.
    UnexpectedValue(&'static str),
    /// The grammar gives the reason.
    Stated(&'static str),
}

/// One reason to ask, with the token at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The token.
    pub token: Token,
    /// The reason.
    pub reason: AskReason,
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = shown(&self.token.text);
        match self.reason {
            AskReason::UnknownOption => write!(f, "The option `{token}` is not known."),
            AskReason::Abbreviation(whole) => {
                write!(f, "The option `{token}` is not known, and may stand for `{whole}`.")
            }
            AskReason::UnknownSubcommand => write!(f, "The subcommand `{token}` is not known."),
            AskReason::UnexpectedArgument => write!(f, "The argument `{token}` is not expected."),
            AskReason::MissingArgument => write!(f, "Behind `{token}` an argument is missing."),
            AskReason::UnexpectedValue(expected) => write!(f, "`{token}` is not {expected}."),
            AskReason::Stated(why) => write!(f, "`{token}`: {why}"),
        }
    }
}

/// A command whose program has a grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The program's name.
    pub program: &'static str,
    /// What the command does, as far as the grammar knows its arguments.
    pub effect: Effect,
    /// Why it asks. Empty if the grammar knows every argument and none asks.
    pub asks: Vec<Ask>,
    /// Every path that the command names, with its access, as the text that it was given as. A relative path
    /// starts at the working directory, and one that starts with `~`, `$` or `%` is given with `./` before it. Behind an option such as `git -C FOLDER` a path starts with that folder.
    pub paths: Vec<(String, Access)>,
    /// The hosts to which it connects.
    pub network: Network,
    /// The arguments with which the runner starts the program: those of the command, and the fixed ones.
    pub arguments: Vec<String>,
    /// Those of the arguments that the grammar adds, for showing.
    pub fixed_arguments: Vec<&'static str>,
    /// Variables that the runner must set.
    pub environment: Vec<(&'static str, &'static str)>,
}

/// A command whose program has no grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoGrammar {
    /// The program.
    pub program: Program,
    /// The arguments, as they were given.
    pub arguments: Vec<String>,
}

/// What a command would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// The program has a grammar.
    Known(Box<Known>),
    /// The program has none: what the command would do is not known.
    NoGrammar(NoGrammar),
    /// The command never runs.
    Refused(Refusal),
}

impl Known {
    /// Returns the risk of the command. Paths and hosts are for the caller to compare with what is granted.
    #[must_use]
    pub fn risk(&self) -> Risk {
        match self.effect {
            _ if !self.asks.is_empty() => Risk::High,
            Effect::Deletes | Effect::Other => Risk::High,
            Effect::Writes | Effect::RunsProject => Risk::Medium,
            Effect::Reads if self.network != Network::None => Risk::Medium,
            Effect::Reads => Risk::Low,
        }
    }
}

impl Judgement {
    /// Returns the risk of the command. A refused command has the highest, and never runs.
    #[must_use]
    pub fn risk(&self) -> Risk {
        match self {
            Self::Known(known) => known.risk(),
            Self::NoGrammar(_) => Risk::High,
            Self::Refused(_) => Risk::Critical,
        }
    }

    /// Returns why the command has its risk, in sentences for people.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Known(known) if known.asks.is_empty() => {
                let network = match &known.network {
                    Network::None => String::new(),
                    Network::Hosts(hosts) => format!(", and connects to {}", hosts.join(", ")),
                    Network::Configured(_) => ", and connects to configured hosts".to_owned(),
                };
                format!("This `{}` command {}{network}.", known.program, known.effect.describe())
            }
            Self::Known(known) => {
                let asks: Vec<_> = known.asks.iter().map(ToString::to_string).collect();
                asks.join(" ")
            }
            Self::NoGrammar(NoGrammar { program: Program::Path(path), .. }) => format!(
                "`{}` is named by its path, so that nothing is known about its arguments.",
                shown(path)
            ),
            Self::NoGrammar(NoGrammar { program, .. }) => {
                format!("Orion has no grammar for `{program}` and does not know what it would do.")
            }
            Self::Refused(refusal) => refusal.message(),
        }
    }
}
