//! Runs a plan: one round of calls at a time, each after the one before it succeeded.

use serde_json::Value;

use crate::context::{Round, Turn};
use crate::language::Language;
use crate::plan::{Collection, Step, View};
use crate::results::{self, ResultFacts};

/// Maximum number of files that one request copies or moves.
const MAX_FILES: usize = 30;

/// Returns the next calls of a plan, or the description of its results.
pub(crate) fn next(steps: &[Step], view: View, turn: &Turn<'_>, language: Language) -> String {
    let rounds = turn.rounds();
    let mut left = rounds.iter();
    for (nth, step) in steps.iter().enumerate() {
        let calls = match step {
            Step::Call(call) => vec![call.to_string()],
            Step::ForEach(all) => {
                let Some(listing) = left.next() else { return all.listing.to_string() };
                if !succeeded(listing) {
                    return stopped(&rounds, steps.len() - nth, view, language);
                }
                match files(all, listing) {
                    Ok(calls) if calls.is_empty() => continue,
                    Ok(calls) => calls,
                    Err(count) => {
                        let before = rounds.len() - left.len() - 1;
                        let done = rounds.get(..before).unwrap_or_default();
                        let done = if done.is_empty() {
                            String::new()
                        } else {
                            format!("{}\n", described(done, view, language))
                        };
                        let many = too_many(count, language);
                        return with_rest_left(
                            format!("{done}{many}"),
                            steps.len() - nth,
                            language,
                        );
                    }
                }
            }
        };
        match left.next() {
            None => return calls.join("\n"),
            Some(round) if !succeeded(round) => {
                return stopped(&rounds, steps.len() - nth, view, language);
            }
            Some(_) => {}
        }
    }
    described(&rounds, view, language)
}

fn succeeded(round: &Round<'_>) -> bool {
    let complete = round.results.len() == round.calls.len();
    complete && round.results.iter().all(|it| ResultFacts::read(it).succeeded())
}

/// Returns the description of the results of all calls.
pub(crate) fn described(rounds: &[Round<'_>], view: View, language: Language) -> String {
    let results: Vec<&str> =
        rounds.iter().flat_map(|round| round.results.iter().copied()).collect();
    results::say(&results, view, language)
}

/// Returns the description of what was done, and that the rest was not.
fn stopped(rounds: &[Round<'_>], left: usize, view: View, language: Language) -> String {
    with_rest_left(described(rounds, view, language), left, language)
}

/// Adds that the steps after the first of those left are not done, if there are any.
fn with_rest_left(said: String, left: usize, language: Language) -> String {
    match (left, language) {
        (0 | 1, _) => said,
        (_, Language::English) => {
            format!("{said}\nI stopped there; what was to follow is not done.")
        }
        (_, Language::Dutch) => {
            format!("{said}\nDaar ben ik gestopt; wat nog zou volgen is niet gedaan.")
        }
    }
}

/// Returns the calls for the files of a listing. Fails with their number where there are too many, or where
/// the listing is not complete.
fn files(all: &Collection, listing: &Round<'_>) -> Result<Vec<String>, usize> {
    let Some(result) = listing.results.first() else { return Ok(Vec::new()) };
    let facts = ResultFacts::read(result);
    let entries = facts.list("/data/entries");
    let names: Vec<&str> = entries
        .iter()
        .filter(|entry| entry.get("is_dir") == Some(&Value::Bool(false)))
        .filter_map(|entry| entry.get("name").and_then(Value::as_str))
        .filter(|name| is_name(name))
        .collect();
    if facts.cut || facts.is("/data/truncated") || names.len() > MAX_FILES {
        return Err(names.len());
    }
    Ok(names.iter().map(|name| all.call(name).to_string()).collect())
}

/// Returns whether a device's text is the name of one file, and not a path to somewhere else.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\', '\0']) && !matches!(name, "." | "..")
}

fn too_many(count: usize, language: Language) -> String {
    match language {
        Language::English => format!(
            "There are more than {MAX_FILES} such files (at least {count}), so I copied or moved none."
        ),
        Language::Dutch => format!(
            "Er zijn meer dan {MAX_FILES} van die bestanden (minstens {count}), dus ik heb er geen gekopieerd of verplaatst."
        ),
    }
}
