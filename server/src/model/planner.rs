//! The built-in planner: understands everyday requests in English and Dutch with a small fixed grammar.
//!
//! It is not a language model and says so. A request that it understands becomes a tool call as text, which
//! goes through the pipeline like every model's calls. It never guesses at other requests.

mod dutch;
mod english;
mod grammar;
mod phrases;
mod plan;
mod polite;
mod results;
mod slots;
#[cfg(test)]
mod tests;
mod undo;
mod words;

use self::grammar::Row;
use self::plan::Plan;
use self::words::{Word, split};
use super::{Request, Role};

/// Maximum size of a message that the planner parses, in bytes.
const MAX_MESSAGE: usize = 16 * 1024;

/// A language that the planner speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    English,
    Dutch,
}

/// The built-in planner.
#[derive(Debug, Clone, Copy)]
pub struct Planner;

impl Planner {
    /// Answers the last message: a request by a call or by text, results by text.
    #[must_use]
    pub fn answer(self, request: &Request) -> String {
        let asked = request.messages.iter().rfind(|message| message.role == Role::User);
        let asked = asked.map_or("", |message| message.content.as_str());
        let results: Vec<&str> = request
            .messages
            .iter()
            .rev()
            .take_while(|message| message.role == Role::Tool)
            .map(|message| message.content.as_str())
            .collect();
        let understood = understand(asked);
        let language = understood.as_ref().map_or_else(|| language_of(asked), |known| known.0);
        if !results.is_empty() {
            return results::say(results.into_iter().rev(), language);
        }
        match understood {
            Some((_, Plan::Call(call))) => call.to_string(),
            Some((language, Plan::Undo { device, dry_run })) => {
                match undo::last(&request.messages, device.as_deref(), dry_run) {
                    Ok(call) => call.to_string(),
                    Err(why) => phrases::no_undo(&why, language),
                }
            }
            Some((language, Plan::Help)) => phrases::help(language),
            None => phrases::unknown(language),
        }
    }
}

/// Returns the plan and the language of a request. `None` for anything but one request that the grammar
/// knows.
fn understand(text: &str) -> Option<(Language, Plan)> {
    if text.len() > MAX_MESSAGE {
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

/// Returns the language of words that the grammar does not know.
fn language_of(text: &str) -> Language {
    const DUTCH: [&str; 32] = [
        "een",
        "het",
        "de",
        "ik",
        "je",
        "jij",
        "mij",
        "mijn",
        "wat",
        "hoe",
        "waar",
        "welke",
        "hoeveel",
        "maak",
        "naar",
        "niet",
        "kun",
        "kan",
        "wil",
        "zou",
        "hallo",
        "hoi",
        "hulp",
        "staat",
        "zijn",
        "voor",
        "met",
        "bestand",
        "map",
        "verwijder",
        "schrijf",
        "graag",
    ];
    let dutch = text
        .split(|letter: char| !letter.is_alphanumeric())
        .take(64)
        .any(|word| DUTCH.contains(&word.to_lowercase().as_str()));
    if dutch { Language::Dutch } else { Language::English }
}
