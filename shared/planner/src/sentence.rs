//! One sentence of the grammar: the readings of its words, and the first phrase that matches.

use crate::context::Context;
use crate::filled::Filled;
use crate::grammar::Match;
use crate::language::Language;
use crate::meaning::plan_of;
use crate::phrases::book;
use crate::plan::{Placement, Plan};
use crate::slots::Value;
use crate::words::Word;
use crate::{devices, forms, polite};

/// Returns the language and the plan of words that are one sentence of the grammar.
pub(crate) fn sentence(
    text: &str,
    words: &[Word],
    context: &Context,
    first: Language,
) -> Option<(Language, Plan)> {
    let mut found = readings(text, words).into_iter().filter_map(|(reading, placement)| {
        let (language, mut found) = matching(text, &reading, context, first, 0)?;
        if found.ends_in_text {
            keep_whole(text, words, &reading, &mut found.filled);
        }
        Some((language, plan_of(found.meaning, &found.filled)?.placed(&placement)))
    });
    // A reading that lacks something counts only where no other is complete.
    let Some(found_first) = found.next() else { return only_thanks(text, words, context, first) };
    if !matches!(found_first.1, Plan::Ask(_)) {
        return Some(found_first);
    }
    Some(found.find(|(_, plan)| !matches!(plan, Plan::Ask(_))).unwrap_or(found_first))
}

/// Returns the plan of a request that ends in a text of courtesies alone: "a file that says thank you".
fn only_thanks(
    text: &str,
    words: &[Word],
    context: &Context,
    first: Language,
) -> Option<(Language, Plan)> {
    let whole = polite::trim_start(words);
    if whole.len() == polite::trim(words).len() {
        return None;
    }
    let (language, found) = matching(text, whole, context, first, 0)?;
    let plan = plan_of(found.meaning, &found.filled).filter(|_| found.ends_in_text)?;
    Some((language, plan))
}

/// Gives a text without quotes at the end of a request the words back that were taken for courtesies: in "a file that says
/// call mom now", they are a part of it.
fn keep_whole(text: &str, words: &[Word], reading: &[Word], filled: &mut Filled) {
    let (Some(last), Some(end)) = (reading.last(), polite::without_thanks(words).last()) else {
        return;
    };
    let is_cut = !last.breaks && polite::trim(words).last() == Some(last);
    let tail = text.get(last.span_end()..end.span_end()).filter(|_| is_cut);
    if let (Some(tail), Some(Value::Text(value))) = (tail, filled.last_mut())
        && text.get(..last.span_end()).is_some_and(|until| until.ends_with(value.as_str()))
    {
        value.push_str(tail);
    }
}

/// The words that begin a sentence whose rest is kept as it is.
const REMEMBER: [&str; 4] = ["remember", "memorize", "memorise", "onthoud"];

/// Returns the readings of a message. A file may be named like a device or a preview: the words are read
/// without both, then without one, then as they are.
pub(crate) fn readings(text: &str, words: &[Word]) -> Vec<(Vec<Word>, Placement)> {
    let words = polite::trim(words);
    let named = polite::preview(words);
    let (plain, preview) = named.map_or((words, false), |rest| (rest, true));
    if plain.first().is_some_and(|word| REMEMBER.contains(&&*word.key)) {
        // What a person wants to be kept is kept whole, whatever it names. A last word that is also a name is a part of it.
        let is_set_off = plain.last().is_some_and(|word| word.breaks);
        let (kept, dry_run) = match preview && plain.len() + 1 == words.len() && !is_set_off {
            true if plain.first() == words.first() => (words, false),
            _ => (plain, preview),
        };
        return vec![(kept.to_vec(), Placement { device: None, dry_run })];
    }
    let (placed, device) = devices::device(text, plain);
    let late = polite::preview(&placed);
    let (words_left, device_left) = devices::device(text, words);
    let without_both = late.unwrap_or(&placed).to_vec();
    let all = [
        (without_both, device, preview || late.is_some()),
        (plain.to_vec(), None, preview),
        (words_left, device_left, false),
        (words.to_vec(), None, false),
    ];
    let mut readings: Vec<(Vec<Word>, Placement)> = Vec::new();
    for (words, device, dry_run) in all {
        let reading = (polite::trim(&words).to_vec(), Placement { device, dry_run });
        if !readings.contains(&reading) {
            readings.push(reading);
        }
    }
    readings
}

/// Returns the sentence that matches, in the language that is tried first, or else in the other.
pub(crate) fn matching(
    text: &str,
    words: &[Word],
    context: &Context,
    first: Language,
    typos: usize,
) -> Option<(Language, Match)> {
    if words.is_empty() {
        return None;
    }
    [first, first.other()].into_iter().find_map(|language| {
        forms::forms(words, language).iter().find_map(|words| {
            let found = book(language).find(text, words, &context.referents, typos)?;
            Some((language, found))
        })
    })
}
