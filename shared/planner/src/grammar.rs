//! Matches the phrases of a language to words.
//!
//! A phrase file is data. A line without indentation is a meaning (see [`crate::meaning`]); the indented
//! lines below it are its patterns. A pattern is a line of pieces: `make|create` is one of these words,
//! `with_name` is a sequence of words, `?a|the` is optional, `{folder}` is a class of words that the file
//! defines by `{folder} = folder|directory`, and `<path>` is a slot (see [`crate::slots`]). The first pattern
//! that consumes every word applies, so more specific patterns come first.

use std::collections::{HashMap, HashSet};

use crate::filled::Filled;
use crate::meaning::plan_of;
use crate::referents::Referents;
use crate::slots::{self, Slot};
use crate::spelling::is_near;
use crate::words::Word;

/// The phrases of a language.
#[derive(Debug)]
pub(crate) struct Book {
    rows: Vec<Row>,
}

/// A pattern and its meaning.
#[derive(Debug)]
struct Row {
    meaning: &'static str,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    Words { options: Vec<Vec<&'static str>>, optional: bool },
    Slot(Slot, &'static str),
}

/// A sentence that a pattern matches.
#[derive(Debug)]
pub(crate) struct Match {
    /// The meaning's line in the phrase file.
    pub(crate) meaning: &'static str,
    /// The values of its slots.
    pub(crate) filled: Filled,
    /// Whether it ends in a text without quotes, whose value is the last one.
    pub(crate) ends_in_text: bool,
    /// The misspelt words by index, with the words that are meant.
    pub(crate) fixes: Vec<(usize, &'static str)>,
}

impl Book {
    /// Parses the phrase files of a language. A line that is not valid is left out; the tests find it.
    pub(crate) fn parse(files: &[&'static str]) -> Self {
        let mut classes: HashMap<&str, &str> = HashMap::new();
        let mut rows = Vec::new();
        let mut meaning = "";
        for line in files.iter().flat_map(|file| file.lines()) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(pattern) = line.strip_prefix("  ") {
                let pieces: Option<Vec<Piece>> =
                    pattern.split(' ').map(|it| piece(it, &classes)).collect();
                rows.extend(pieces.map(|pieces| Row { meaning, pieces }));
            } else if let Some((class, words)) = line.split_once(" = ") {
                classes.insert(class, words);
            } else {
                meaning = line;
            }
        }
        Self { rows }
    }

    /// Returns the first sentence that matches these words with at most `typos` misspelt words.
    pub(crate) fn find(
        &self,
        text: &str,
        words: &[Word],
        referents: &Referents,
        typos: usize,
    ) -> Option<Match> {
        let mut matcher =
            Matcher { text, all: words, referents, typos, ends_in_text: false, fixes: Vec::new() };
        let keys: HashSet<&str> = words.iter().map(|word| word.key.as_str()).collect();
        // Each piece that no word fits exactly needs a misspelt word.
        let may_match =
            |row: &&Row| row.pieces.iter().filter(|it| !it.may_match(&keys)).count() <= typos;
        self.rows.iter().filter(may_match).find_map(|row| {
            let mut filled = Filled::default();
            matcher.fixes.clear();
            matcher.ends_in_text = false;
            let fits = matcher.matches(&row.pieces, words, &mut filled);
            let Matcher { ends_in_text, fixes, .. } = &matcher;
            let (ends_in_text, fixes) = (*ends_in_text, fixes.clone());
            let found = Match { meaning: row.meaning, filled, ends_in_text, fixes };
            // A pronoun may refer to what this meaning cannot use.
            (fits && plan_of(found.meaning, &found.filled).is_some()).then_some(found)
        })
    }
}

impl Piece {
    /// Returns whether these words have what the piece needs.
    fn may_match(&self, keys: &HashSet<&str>) -> bool {
        match self {
            Self::Words { options, optional: false } => {
                options.iter().any(|option| option.iter().all(|part| keys.contains(part)))
            }
            Self::Words { optional: true, .. } | Self::Slot(..) => true,
        }
    }
}

fn piece(text: &'static str, classes: &HashMap<&str, &'static str>) -> Option<Piece> {
    if let Some(name) = text.strip_prefix('<').and_then(|name| name.strip_suffix('>')) {
        return Slot::named(name).map(|slot| Piece::Slot(slot, name));
    }
    let (options, optional) =
        text.strip_prefix('?').map_or((text, false), |options| (options, true));
    if options.contains('<') {
        return None;
    }
    let mut split = Vec::new();
    for option in options.split('|') {
        let words = if option.starts_with('{') { *classes.get(option)? } else { option };
        split.extend(words.split('|').map(|words| words.split('_').collect()));
    }
    Some(Piece::Words { options: split, optional })
}

struct Matcher<'a> {
    text: &'a str,
    all: &'a [Word],
    referents: &'a Referents,
    typos: usize,
    ends_in_text: bool,
    fixes: Vec<(usize, &'static str)>,
}

impl Matcher<'_> {
    fn matches(&mut self, pieces: &[Piece], words: &[Word], filled: &mut Filled) -> bool {
        let Some((piece, more)) = pieces.split_first() else { return words.is_empty() };
        match piece {
            Piece::Slot(slot, name) => (1..=words.len().min(slot.max_words())).any(|length| {
                let Some((inside, rest)) = words.split_at_checked(length) else { return false };
                let Some(value) = slots::read(*slot, self.text, inside, self.referents) else {
                    return false;
                };
                filled.push(name, value);
                let fits = self.matches(more, rest, filled);
                if !fits {
                    filled.pop();
                } else if rest.is_empty() && matches!(slot, Slot::Words | Slot::Content) {
                    self.ends_in_text = inside.iter().all(|word| word.quoted.is_none());
                }
                fits
            }),
            Piece::Words { options, optional } => {
                options.iter().any(|option| {
                    let fixed = self.fixes.len();
                    let fits = words.split_at_checked(option.len()).is_some_and(|(head, rest)| {
                        let at = self.all.len() - words.len();
                        option
                            .iter()
                            .zip(head)
                            .enumerate()
                            .all(|(nth, (part, word))| self.is(word, part, at + nth))
                            && self.matches(more, rest, filled)
                    });
                    if !fits {
                        self.fixes.truncate(fixed);
                    }
                    fits
                }) || (*optional && self.matches(more, words, filled))
            }
        }
    }

    /// Returns whether a word is a word of the pattern, perhaps misspelt.
    fn is(&mut self, word: &Word, part: &'static str, at: usize) -> bool {
        if word.key == part {
            return true;
        }
        let is_fix = self.fixes.len() < self.typos && is_near(&word.key, part);
        if is_fix {
            self.fixes.push((at, part));
        }
        is_fix
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phrases::{DUTCH_FILES, ENGLISH_FILES};

    #[test]
    fn every_line_of_the_phrase_files_is_well_formed() {
        for files in [ENGLISH_FILES, DUTCH_FILES] {
            let mut classes: HashMap<&str, &str> = HashMap::new();
            let mut has_meaning = false;
            for line in files.iter().flat_map(|file| file.lines()) {
                assert!(line.len() == line.trim_end().len() && !line.contains('\t'), "{line:?}");
                if let Some((class, words)) = line.split_once(" = ") {
                    assert!(class.starts_with('{') && class.ends_with('}'), "{line}");
                    assert_eq!(classes.insert(class, words), None, "{line}");
                } else if let Some(pattern) = line.strip_prefix("  ") {
                    assert!(has_meaning, "{line}");
                    for it in pattern.split(' ') {
                        assert!(!it.is_empty() && piece(it, &classes).is_some(), "{line}: {it}");
                        assert_eq!(it, it.to_lowercase(), "{line}");
                    }
                } else if !line.is_empty() && !line.starts_with('#') {
                    has_meaning = true;
                    assert!(crate::meaning::is_known(line), "{line}");
                }
            }
        }
    }
}
