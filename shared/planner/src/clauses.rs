//! Several requests in one message: "create folder A and write hi to A/b.txt". Either all of it is
//! understood, or nothing is done.

use crate::context::Context;
use crate::file_names::is_file;
use crate::language::Language;
use crate::plan::{Placement, Plan, Step, View};
use crate::polite;
use crate::sentence::sentence;
use crate::words::Word;

/// Maximum number of requests in a message.
const MAX_CLAUSES: usize = 5;
/// Words between two requests, the longest first.
const JOINTS: &[&str] = &[
    "and_after_that",
    "and_then",
    "after_that",
    "and_also",
    "en_daarna",
    "en_dan",
    "en_vervolgens",
    "en_ook",
    "and",
    "then",
    "also",
    "plus",
    "en",
    "dan",
    "daarna",
    "vervolgens",
    "&&",
    "&",
];

/// Requests that were understood, in their order.
#[derive(Clone, Default)]
struct Understood {
    steps: Vec<Step>,
    view: Option<View>,
    language: Option<Language>,
}

/// Returns the plan of a message of several requests. Fails with the part that is not understood, if another
/// part is.
pub(crate) fn plan(
    text: &str,
    words: &[Word],
    context: &Context,
    language: Language,
) -> Result<(Language, Plan), Option<String>> {
    let (rest, dry_run) = common(words);
    let mut search = Search { text, language, dry_run, worst: None };
    let start = Context { referents: context.referents.clone(), ..Context::default() };
    match search.next(polite::trim(&rest), None, &start, &Understood::default(), 0) {
        Some(done) => {
            let view = done.view.unwrap_or(View::Sentences);
            Ok((done.language.unwrap_or(language), Plan::Run(done.steps, view)))
        }
        None => Err(search.worst),
    }
}

/// Returns the words without a wish for a preview, which counts for all of them.
fn common(words: &[Word]) -> (Vec<Word>, bool) {
    let words = polite::trim(words);
    let preview = polite::preview(words);
    (preview.unwrap_or(words).to_vec(), preview.is_some())
}

struct Search<'a> {
    text: &'a str,
    language: Language,
    /// Whether all of it is only to be previewed.
    dry_run: bool,
    /// The first part that is not understood, behind the longest part that is.
    worst: Option<String>,
}

impl Search<'_> {
    /// Returns the requests in `words`, behind those that are understood already.
    fn next(
        &mut self,
        words: &[Word],
        previous: Option<&[Word]>,
        context: &Context,
        done: &Understood,
        depth: usize,
    ) -> Option<Understood> {
        if words.is_empty() {
            return (depth > 0 && !done.steps.is_empty()).then(|| done.clone());
        }
        if depth == MAX_CLAUSES {
            return None;
        }
        let ends = (1..=words.len()).filter(|end| is_end(words, *end));
        for end in ends.collect::<Vec<_>>() {
            let (clause, rest) = words.split_at_checked(end)?;
            if depth == 0 && rest.is_empty() {
                break;
            }
            let device = done.steps.last().and_then(Step::device).map(str::to_owned);
            let placement = Placement { device, dry_run: self.dry_run };
            let Some((found, more, spoken)) = self.clause(clause, previous, context, &placement)
            else {
                continue;
            };
            let mut context =
                Context { referents: context.referents.clone(), ..Context::default() };
            for step in &more {
                if let Step::Call(call) = step {
                    context.referents.add(&call.tool, None, |name| call.text(name).to_owned());
                }
            }
            let mut done = done.clone();
            // Somebody who opens a file and reads it wants it once.
            let new = more.into_iter().filter(|step| done.steps.last() != Some(step));
            let new: Vec<Step> = new.collect();
            done.steps.extend(new);
            done.language = Some(found);
            done.view = None;
            let rest = without_joint(rest);
            if let Some(all) = self.next(rest, Some(&spoken), &context, &done, depth + 1) {
                return Some(all);
            }
            if self.worst.is_none() && !rest.is_empty() {
                self.worst = shown(self.text, rest);
            }
        }
        None
    }

    /// Returns a request's language, steps and complete words. Without a device of its own it runs on that of the
    /// request before it. A request without a verb takes the words before
    /// it: "delete a.txt and b.txt".
    fn clause(
        &self,
        clause: &[Word],
        previous: Option<&[Word]>,
        context: &Context,
        placement: &Placement,
    ) -> Option<(Language, Vec<Step>, Vec<Word>)> {
        let steps = |words: &[Word]| {
            let (language, plan) = sentence(self.text, words, context, self.language)?;
            let plan = plan.placed_where_open(placement);
            if let Plan::Run(steps, _) = plan { Some((language, steps)) } else { None }
        };
        if let Some((language, steps)) = steps(clause) {
            return Some((language, steps, clause.to_vec()));
        }
        let previous = previous.filter(|previous| is_another_name(clause, previous))?;
        (1..previous.len()).rev().find_map(|length| {
            let mut whole = previous.get(..length)?.to_vec();
            whole.extend_from_slice(clause);
            whole.iter_mut().for_each(|word| word.breaks = false);
            let (language, found) = steps(&whole)?;
            let (_, before) = steps(previous)?;
            let is_deletion = |tools: &[&str]| tools.iter().all(|tool| tool.starts_with("delete_"));
            let (found_tools, before) = (tools(&found), tools(&before));
            let same = found_tools == before || (is_deletion(&found_tools) && is_deletion(&before));
            (same && !found_tools.contains(&"execute_command")).then_some((language, found, whole))
        })
    }
}

/// Returns whether words are only one more name, and not a request of their own.
fn is_another_name(clause: &[Word], previous: &[Word]) -> bool {
    const MANY: &[&str] = &["folders", "files", "directories", "mappen", "bestanden"];
    let looks_like_a_name = |word: &Word| {
        word.quoted.is_some() || word.capital || is_file(&word.key) || word.key.contains('/')
    };
    let many = previous.iter().any(|word| MANY.contains(&word.key.as_str()));
    clause.len() <= 3
        && (clause.last().is_some_and(looks_like_a_name) || (many && clause.len() == 1))
}

fn tools(steps: &[Step]) -> Vec<&str> {
    steps
        .iter()
        .map(|step| match step {
            Step::Call(call) => call.tool.as_str(),
            Step::ForEach(all) => all.tool,
        })
        .collect()
}

/// Returns whether a request may end before the word at `end`.
fn is_end(words: &[Word], end: usize) -> bool {
    let breaks = end.checked_sub(1).and_then(|last| words.get(last)).is_some_and(|it| it.breaks);
    let rest = words.get(end..).unwrap_or_default();
    rest.is_empty() || breaks || without_joint(rest).len() < rest.len()
}

fn without_joint(words: &[Word]) -> &[Word] {
    JOINTS.iter().find_map(|joint| polite::after(words, joint)).unwrap_or(words)
}

/// Returns the words as they were written.
fn shown(text: &str, words: &[Word]) -> Option<String> {
    let (first, last) = (words.first()?, words.last()?);
    text.get(first.span_start()..last.span_end()).map(|it| it.chars().take(80).collect())
}
