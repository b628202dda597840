//! Reads a command's arguments by a grammar: options, subcommands, positional arguments and what they touch.

mod options;
mod outcome;
mod positionals;

use orion_domain::Access;

use crate::grammar::{Grammar, Node, Words, find_sub};
use crate::judgement::{Ask, AskReason, Effect, Known};
use crate::line::{CommandLine, Token};
use crate::table;
use crate::value::{Kind, Value, address_of};

/// A command while its arguments are read.
pub(crate) struct Reading {
    program: &'static str,
    grammar: &'static Grammar,
    /// The last subcommand that was named.
    subcommand: Option<Token>,
    /// The program's node, then that of each subcommand.
    nodes: Vec<&'static Node>,
    asks: Vec<Ask>,
    /// The names of the options that were given.
    options: Vec<String>,
    /// What entering another program's grammar does at least.
    floor: Effect,
    positionals: Vec<Token>,
    /// What followed `--`, where the grammar has a kind for it.
    rest: Vec<Token>,
    paths: Vec<(String, &'static [Access])>,
    /// Paths that are written where the command writes.
    subjects: Vec<String>,
    hosts: Vec<String>,
    /// The folder to which the program changes first.
    folder: Option<String>,
    arguments: Vec<String>,
    fixed: Vec<&'static str>,
}

impl Reading {
    /// Reads the whole command.
    pub(crate) fn read(
        program: &'static str,
        grammar: &'static Grammar,
        line: &CommandLine,
    ) -> Known {
        let mut reading = Self {
            program,
            grammar,
            subcommand: None,
            nodes: vec![&grammar.line],
            asks: Vec::new(),
            options: Vec::new(),
            floor: Effect::Reads,
            positionals: Vec::new(),
            rest: Vec::new(),
            paths: Vec::new(),
            subjects: Vec::new(),
            hosts: Vec::new(),
            folder: None,
            arguments: Vec::new(),
            fixed: Vec::new(),
        };
        reading.insert_fixed(&grammar.line);
        reading.read_tokens(line);
        reading.assign_positionals(line);
        reading.finish(line)
    }

    /// Returns the node of the innermost subcommand.
    fn node(&self) -> &'static Node {
        self.nodes.last().copied().unwrap_or(&self.grammar.line)
    }

    fn read_tokens(&mut self, line: &CommandLine) {
        let mut tokens = line.arguments().iter();
        while let Some(token) = tokens.next() {
            self.arguments.push(token.text.clone());
            if token.text == "--" && self.ends_options() {
                let rest = tokens.as_slice();
                self.arguments.extend(rest.iter().map(|token| token.text.clone()));
                match self.node().rest {
                    Some(_) => self.rest = rest.to_vec(),
                    None => self.positionals.extend_from_slice(rest),
                }
                return;
            }
            if let Some(node) = self.find_subcommand(&token.text) {
                self.subcommand = Some(token.clone());
                self.enter(node);
            } else if self.is_option(&token.text) {
                self.read_option(token, &mut tokens);
            } else {
                self.positionals.push(token.clone());
            }
        }
    }

    /// Returns the subcommand that a word names here. It comes before any positional argument.
    fn find_subcommand(&self, word: &str) -> Option<&'static Node> {
        if !self.positionals.is_empty() {
            return None;
        }
        match self.nodes.as_slice() {
            [_] => find_sub(&self.grammar.sub, word),
            _ => find_sub(&self.node().sub, word),
        }
    }

    fn enter(&mut self, node: &'static Node) {
        let other = node.same_as.as_ref().and_then(|name| table::find(name));
        if let Some((_, grammar)) = other {
            // The words of the other program follow, as if it had been called by its own name.
            self.floor = node.effect.unwrap_or(Effect::Reads);
            self.grammar = grammar;
            self.nodes.clear();
            self.nodes.push(&grammar.line);
        } else {
            self.nodes.push(node);
        }
        self.insert_fixed(self.node());
    }

    fn insert_fixed(&mut self, node: &'static Node) {
        self.arguments.extend(node.fixed.iter().cloned());
        self.fixed.extend(node.fixed.iter().map(String::as_str));
    }

    fn ask(&mut self, token: &Token, reason: AskReason) {
        self.asks.push(Ask { token: token.clone(), reason });
    }

    /// Takes one value: checks its kind, and notes the path or the host that it names.
    fn take(&mut self, token: &Token, text: &str, value: &Value) {
        if !value.accepts(text) {
            self.ask(token, AskReason::UnexpectedValue(value.expected()));
        }
        match value.kind {
            Kind::Path(access) => self.paths.push((literal(text), access)),
            Kind::Revision => self.paths.push((literal(text), &[Access::Read])),
            Kind::Subject => self.subjects.push(literal(text)),
            Kind::Folder => {
                let folder = self.below_folder(&literal(text));
                self.folder = Some(folder);
            }
            Kind::Host => self.hosts.push(text.to_owned()),
            Kind::Url => {
                self.hosts.extend(address_of(text));
            }
            Kind::Text | Kind::Name | Kind::Number | Kind::Lint | Kind::Choice => {}
        }
    }

    /// Returns a path below the folder to which the program changes.
    fn below_folder(&self, path: &str) -> String {
        match &self.folder {
            Some(folder) if !path.starts_with('/') => format!("{folder}/{path}"),
            _ => path.to_owned(),
        }
    }

    /// Returns whether one of these options was given.
    fn has_option(&self, names: &Words) -> bool {
        self.options.iter().any(|option| names.contains(option))
    }

    /// Returns what the options make of the effect: the highest that one of them has.
    fn effect_of_options(&self) -> Effect {
        let node = self.node();
        if self.has_option(&node.project_with) {
            Effect::RunsProject
        } else if self.has_option(&node.writes_with) {
            Effect::Writes
        } else {
            Effect::Reads
        }
    }
}

/// Returns a path that no reader expands. A program takes `~` and `$HOME` literally, where a shell would not.
fn literal(path: &str) -> String {
    if path.starts_with(['~', '$', '%']) { format!("./{path}") } else { path.to_owned() }
}
