//! Reads options in each of the styles.

use std::slice::Iter;

use super::Reading;
use crate::grammar::{Node, Style};
use crate::judgement::AskReason;
use crate::line::Token;
use crate::value::{Count, Kind, Value};

impl Reading {
    /// Returns whether `--` ends the options.
    pub(super) const fn ends_options(&self) -> bool {
        match self.grammar.style {
            Style::Getopt | Style::Pflag | Style::Go => true,
            Style::Words => false,
        }
    }

    /// Returns whether a word is an option. A dash alone stands for standard input.
    pub(super) fn is_option(&self, word: &str) -> bool {
        let has_dash = word.starts_with('-') && word.len() > 1;
        has_dash || self.grammar.style == Style::Words && self.find_option(word).is_some()
    }

    /// Returns the value of an option that is known here: of the subcommand, or of the program where its options may
    /// follow the subcommand.
    fn find_option(&self, name: &str) -> Option<(&'static Node, Option<&'static Value>)> {
        let node = self.node();
        let outer = self.nodes.iter().copied().filter(|_| self.grammar.global_options);
        std::iter::once(node).chain(outer).find_map(|it| Some((it, it.option(name)?)))
    }

    /// Reads an option, and its value where that is the next word.
    pub(super) fn read_option(&mut self, token: &Token, following: &mut Iter<'_, Token>) {
        let word = token.text.as_str();
        match self.grammar.style {
            Style::Words => self.read_whole(token, word, None, following),
            Style::Go => {
                let (name, value) = split_value(word);
                let name = name.strip_prefix('-').filter(|it| it.starts_with('-')).unwrap_or(name);
                self.read_whole(token, name, value, following);
            }
            Style::Getopt | Style::Pflag if word.starts_with("--") => {
                let (name, value) = split_value(word);
                self.read_whole(token, name, value, following);
            }
            Style::Getopt | Style::Pflag => self.read_cluster(token, following),
        }
    }

    /// Reads an option whose whole name is known.
    fn read_whole(
        &mut self,
        token: &Token,
        name: &str,
        attached: Option<&str>,
        following: &mut Iter<'_, Token>,
    ) {
        let Some((node, value)) = self.find_option(name) else {
            let reason =
                self.abbreviated(name).map_or(AskReason::UnknownOption, AskReason::Abbreviation);
            return self.ask(token, reason);
        };
        self.note(token, name, node);
        match (value, attached) {
            (None, None) => {}
            (None, Some("true" | "false")) if self.grammar.style != Style::Getopt => {}
            (None, Some(_)) => self.ask(token, AskReason::UnknownOption),
            (Some(value), Some(text)) => self.take(token, text, value),
            (Some(value), None) => self.take_following(token, value, following),
        }
    }

    /// Reads `-la`, `-n5` and `-n 5`, or `-20`.
    fn read_cluster(&mut self, token: &Token, following: &mut Iter<'_, Token>) {
        let letters = token.text.get(1..).unwrap_or_default();
        if self.node().digits && letters.chars().all(|it| it.is_ascii_digit()) {
            return;
        }
        for (at, letter) in letters.char_indices() {
            let name = format!("-{letter}");
            let Some((node, value)) = self.find_option(&name) else {
                return self.ask(token, AskReason::UnknownOption);
            };
            self.note(token, &name, node);
            let Some(value) = value else { continue };
            let attached = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            let pflag = self.grammar.style == Style::Pflag;
            let text = attached.strip_prefix('=').filter(|_| pflag).unwrap_or(attached);
            if attached.is_empty() {
                self.take_following(token, value, following);
            } else {
                self.take(token, text, value);
            }
            return;
        }
    }

    /// Takes the next word as an option's value, unless the value is optional.
    fn take_following(&mut self, token: &Token, value: &Value, following: &mut Iter<'_, Token>) {
        if value.count == Count::Optional {
            return;
        }
        let Some(next) = following.next() else {
            return self.ask(token, AskReason::MissingArgument);
        };
        self.arguments.push(next.text.clone());
        // Some programs take such a word as the value, others as the next option.
        if next.text.starts_with('-') && next.text.len() > 1 && value.kind != Kind::Number {
            self.ask(next, AskReason::UnexpectedValue(value.expected()));
        }
        self.take(next, &next.text, value);
    }

    /// Notes an option, and asks if the grammar says so.
    fn note(&mut self, token: &Token, name: &str, node: &'static Node) {
        self.options.push(name.to_owned());
        if let Some((_, why)) = node.asks_with.iter().find(|(names, _)| names.contains(name)) {
            self.ask(token, AskReason::Stated(why));
        }
    }

    /// Returns the long option that a word may stand for.
    fn abbreviated(&self, word: &str) -> Option<&'static str> {
        let node = self.node();
        let asks = node.asks_with.keys().flat_map(|names| &names.0);
        let all = node.flags.0.iter().chain(node.values.0.keys()).chain(asks);
        let is_start = |whole: &&String| word.len() > 2 && whole.starts_with(word);
        word.starts_with("--").then(|| all.into_iter().find(is_start)).flatten().map(String::as_str)
    }
}

fn split_value(word: &str) -> (&str, Option<&str>) {
    word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)))
}
