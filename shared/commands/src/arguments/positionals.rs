//! Gives each positional argument its kind.

use super::Reading;
use crate::judgement::AskReason;
use crate::line::{CommandLine, Token};
use crate::value::{Count, Value};

impl Reading {
    /// Gives each positional argument, and each that followed `--`, its kind.
    pub(super) fn assign_positionals(&mut self, line: &CommandLine) {
        let node = self.node();
        let has_subs = match self.nodes.as_slice() {
            [_] => !self.grammar.sub.is_empty(),
            _ => !node.sub.is_empty(),
        };
        let positionals = std::mem::take(&mut self.positionals);
        let kinds = node.positionals.0.as_slice();
        if kinds.is_empty() && has_subs {
            if let Some(first) = positionals.first() {
                self.ask(first, AskReason::UnknownSubcommand);
            }
        } else {
            let is_given = self.has_option(&node.first_given_by);
            let kinds = kinds.get(usize::from(is_given)..).unwrap_or_default();
            self.assign(&positionals, kinds, line);
        }
        if let Some(rest) = &node.rest {
            let tokens = std::mem::take(&mut self.rest);
            self.assign(&tokens, &rest.0, line);
        }
        self.positionals = positionals;
    }

    fn assign(&mut self, tokens: &[Token], kinds: &'static [Value], line: &CommandLine) {
        let needed = |value: &Value| match value.count {
            Count::One | Count::Some => 1,
            Count::Optional | Count::Any => 0,
        };
        let minimum: usize = kinds.iter().map(needed).sum();
        let mut left = tokens;
        let mut spare = tokens.len().saturating_sub(minimum);
        for kind in kinds {
            let extra = match kind.count {
                Count::One => 0,
                Count::Optional => spare.min(1),
                Count::Any | Count::Some => spare,
            };
            spare -= extra;
            let (mine, rest) = left.split_at((needed(kind) + extra).min(left.len()));
            for token in mine {
                self.take(token, &token.text, kind);
            }
            left = rest;
        }
        for token in left {
            self.ask(token, AskReason::UnexpectedArgument);
        }
        if tokens.len() < minimum {
            let last = line.arguments().last().unwrap_or(line.program());
            self.ask(last, AskReason::MissingArgument);
        }
    }
}
