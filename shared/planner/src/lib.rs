//! The built-in planner: understands everyday requests in English and Dutch with a small fixed grammar.
//!
//! It is not a language model and says so. A request that it understands becomes a tool call as text, which
//! is evaluated like every model's calls. It never guesses at other requests.
//!
//! [`answer`] is a pure function of the conversation. Reading order: `words` splits a request, `grammar`
//! matches it with the rows of `english` and `dutch`, `plan` is the call, `results` describes its result.

mod conversation;
mod dutch;
mod english;
mod grammar;
mod language;
mod phrases;
mod plan;
mod polite;
mod results;
mod slots;
#[cfg(test)]
mod tests;
mod undo;
mod words;

pub use crate::conversation::{Call, Message};

use crate::grammar::Row;
use crate::language::{Language, language_of};
use crate::plan::Plan;
use crate::words::{Word, split};

/// Maximum size of a message that the planner parses, in bytes.
const MAX_MESSAGE_BYTES: usize = 16 * 1024;

/// Answers the last request of a conversation: by a call as JSON, by the results that follow it in words, or
/// by help.
#[must_use]
pub fn answer(conversation: &[Message<'_>]) -> String {
    let request = conversation.iter().rev().find_map(Message::request).unwrap_or_default();
    let mut results: Vec<&str> = conversation.iter().rev().map_while(Message::envelope).collect();
    results.reverse();
    let understood = understand(request);
    let language = understood.as_ref().map_or_else(|| language_of(request), |known| known.0);
    if !results.is_empty() {
        return results::say(results.into_iter(), language);
    }
    match understood {
        Some((_, Plan::Call(call))) => call.to_string(),
        Some((language, Plan::Undo { device, dry_run })) => {
            match undo::last(conversation, device.as_deref(), dry_run) {
                Ok(call) => call.to_string(),
                Err(why) => phrases::no_undo(&why, language),
            }
        }
        Some((language, Plan::Help)) => phrases::help(language),
        None => phrases::unknown(language),
    }
}

/// Returns the plan and the language of a request. `None` for anything but one request that the grammar
/// knows.
fn understand(text: &str) -> Option<(Language, Plan)> {
    if text.len() > MAX_MESSAGE_BYTES {
        return None;
    }
    let words = split(text)?;
    let words = polite::trim(&words);
    if words.is_empty() {
        return Some((language_of(text), Plan::Help));
    }
    // A file may be named like a device or a preview. The words are tried with both removed, then with one,
    // then as they are.
    let named = polite::preview(words);
    let (plain, preview) = named.map_or((words, false), |rest| (rest, true));
    let (placed, device) = polite::device(text, plain);
    let late = polite::preview(&placed);
    let (words_left, device_left) = polite::device(text, words);
    [
        (late.unwrap_or(&placed), device, preview || late.is_some()),
        (plain, None, preview),
        (&words_left, device_left, false),
        (words, None, false),
    ]
    .into_iter()
    .find_map(|(words, device, dry_run)| {
        let (language, plan) = match_rows(text, polite::trim(words))?;
        Some((language, plan.placed(device, dry_run)))
    })
}

fn match_rows(text: &str, words: &[Word]) -> Option<(Language, Plan)> {
    let find = |rows: &[Row], words: &[Word]| rows.iter().find_map(|row| row.plan(text, words));
    find(english::ROWS, words).map(|plan| (Language::English, plan)).or_else(|| {
        let words = polite::verb_first(words);
        find(dutch::ROWS, &words).map(|plan| (Language::Dutch, plan))
    })
}
