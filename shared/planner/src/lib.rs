//! The built-in planner: understands everyday requests in English and Dutch with a fixed grammar.
//!
//! It is not a language model and says so. A request that it understands becomes tool calls as text, which
//! are evaluated like every model's calls. It never guesses: it asks, or says what it did not understand.
//!
//! [`answer`] is a pure function of the conversation. Reading order: `words` splits a message; `polite` and
//! `devices` remove what surrounds a request; `forms` brings its words in the order of the phrases; `grammar` matches it with the phrases, which are data in `phrases/`; `slots` reads
//! the parts that a person chooses; `meaning` makes a plan of them; `understand` does so for a message, with
//! `clauses` for several requests and `context` for what the chat was about; `run` makes the calls one after
//! the other, and `results` describes what came of them.

mod calls;
mod clauses;
mod context;
mod conversation;
mod devices;
mod file_names;
mod filled;
mod forms;
mod function_words;
mod grammar;
mod language;
mod meaning;
mod phrases;
mod plan;
mod polite;
mod referents;
mod results;
mod run;
mod sentence;
mod slots;
mod spelling;
#[cfg(test)]
mod tests;
mod texts;
mod understand;
mod undo;
mod words;

pub use crate::conversation::{Call, Message};

use crate::context::Turn;
use crate::language::Language;
use crate::plan::{Plan, View};
use crate::understand::{Outcome, understand};

/// How many calls of one request are taken back by one answer, which makes at most 64 calls.
const MAX_UNDONE: usize = 60;

/// How many changes of a chat are described.
const MAX_DESCRIBED: usize = 20;

/// An answer of the planner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Calls as JSON, one a line, or words.
    pub text: String,
    /// Whether the request was understood and lacks nothing.
    pub understood: bool,
}

/// Answers the last request of a conversation: by the next calls as JSON, by what came of its calls, or by a
/// question or a reason why nothing is done.
#[must_use]
pub fn answer(conversation: &[Message<'_>]) -> Answer {
    let turns = Turn::all(conversation);
    let (language, outcome) = understand(&turns);
    let done = |text| Answer { text, understood: true };
    let Some(turn) = turns.last() else { return done(texts::help(language)) };
    match &outcome {
        Outcome::Plan(Plan::Run(steps, view)) => done(run::next(steps, *view, turn, language)),
        _ if !turn.rounds().is_empty() => {
            done(run::described(&turn.rounds(), View::Sentences, language))
        }
        Outcome::Plan(Plan::Undo(placement, which)) => {
            match undo::of(turn.before, *which, placement.device.as_deref(), placement.dry_run) {
                Ok(calls) if calls.len() <= MAX_UNDONE => {
                    done(calls.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
                }
                Ok(calls) => done(texts::too_many_changes(calls.len(), language)),
                Err(why) => done(texts::no_undo(&why, language)),
            }
        }
        Outcome::Plan(Plan::Account(placement)) => {
            let changes = undo::changes(turn.before, placement.device.as_deref(), MAX_DESCRIBED);
            let results = results::say(&changes.results, View::Sentences, language);
            done(texts::account(&results, changes.is_cut, changes.others, language))
        }
        Outcome::Plan(Plan::Help) => done(texts::help(language)),
        Outcome::Plan(_) | Outcome::Correction(_) | Outcome::Dropped | Outcome::Miss(_) => Answer {
            text: say(&outcome, language).unwrap_or_default(),
            understood: outcome == Outcome::Dropped,
        },
    }
}

/// Returns what the planner says about an outcome that makes no calls. `None` for another.
fn say(outcome: &Outcome, language: Language) -> Option<String> {
    Some(match outcome {
        Outcome::Plan(Plan::Ask(missing)) => texts::question(missing.question, language).to_owned(),
        Outcome::Plan(Plan::Cannot(key)) => texts::cannot(key, language).to_owned(),
        Outcome::Plan(Plan::Yes | Plan::No) => texts::no_question(language).to_owned(),
        Outcome::Plan(
            Plan::Run(..) | Plan::Undo(..) | Plan::Account(_) | Plan::Repeat(..) | Plan::Help,
        ) => {
            return None;
        }
        Outcome::Correction(text) => texts::correction(text, language),
        Outcome::Dropped => texts::dropped(language).to_owned(),
        Outcome::Miss(miss) => texts::miss(miss, language),
    })
}
