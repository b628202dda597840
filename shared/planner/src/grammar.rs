//! Matches the rows of the grammar to words.
//!
//! A pattern is a line of pieces. `make|create` is one of these words, `with_name` is a sequence of words,
//! `?a|the` is optional, `<path>` is a slot (see [`crate::slots`]). The first row that consumes every word
//! applies.

use crate::plan::Plan;
use crate::slots::{self, Slot};
use crate::words::Word;

/// A sentence and its meaning.
pub(crate) struct Row {
    /// The sentence's pattern.
    pub(crate) pattern: &'static str,
    /// Returns the plan for the values of the slots.
    pub(crate) plan: fn(&Filled) -> Plan,
}

/// The values of a sentence's slots.
#[derive(Debug, Default)]
pub(crate) struct Filled(Vec<(&'static str, String)>);

impl Filled {
    /// Returns the slot's value; empty for a slot that the pattern does not have.
    pub(crate) fn get(&self, slot: &str) -> &str {
        self.0.iter().find(|(name, _)| *name == slot).map_or("", |(_, value)| value.as_str())
    }
}

impl Row {
    /// Returns the plan of these words, if they match this sentence.
    pub(crate) fn plan(&self, text: &str, words: &[Word]) -> Option<Plan> {
        let pieces: Vec<&'static str> = self.pattern.split(' ').collect();
        let mut filled = Filled::default();
        matches(text, &pieces, words, &mut filled).then(|| (self.plan)(&filled))
    }
}

fn matches(text: &str, pieces: &[&'static str], words: &[Word], filled: &mut Filled) -> bool {
    let Some((piece, more)) = pieces.split_first() else { return words.is_empty() };
    if let Some(name) = piece.strip_prefix('<').and_then(|name| name.strip_suffix('>')) {
        let Some(slot) = Slot::named(name) else { return false };
        return (1..=words.len().min(slot.most_words())).any(|length| {
            let Some((inside, rest)) = words.split_at_checked(length) else { return false };
            let Some(value) = slots::read(slot, text, inside) else { return false };
            filled.0.push((name, value));
            let fits = matches(text, more, rest, filled);
            if !fits {
                filled.0.pop();
            }
            fits
        });
    }
    let (options, optional) =
        piece.strip_prefix('?').map_or((*piece, false), |options| (options, true));
    options.split('|').any(|option| {
        let parts = option.split('_');
        let length = parts.clone().count();
        words.split_at_checked(length).is_some_and(|(head, rest)| {
            parts.zip(head).all(|(part, word)| word.key == part)
                && matches(text, more, rest, filled)
        })
    }) || (optional && matches(text, more, words, filled))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{dutch, english};

    #[test]
    fn every_pattern_is_well_formed() {
        for row in english::ROWS.iter().chain(dutch::ROWS) {
            assert!(!row.pattern.contains("  "), "{}", row.pattern);
            for piece in row.pattern.split(' ') {
                match piece.strip_prefix('<') {
                    Some(name) => {
                        let name = name.strip_suffix('>').unwrap();
                        assert!(Slot::named(name).is_some(), "{}", row.pattern);
                    }
                    None => {
                        let options = piece.strip_prefix('?').unwrap_or(piece);
                        assert!(
                            options
                                .split(['|', '_'])
                                .all(|word| { !word.is_empty() && *word == word.to_lowercase() }),
                            "{}",
                            row.pattern
                        );
                    }
                }
            }
        }
    }
}
