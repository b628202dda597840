//! Turns a message into a plan: one sentence of the grammar, several sentences, an answer to the planner's
//! question, or a reason why nothing is done.

use crate::clauses;
use crate::context::{Context, Pending, Turn};
use crate::devices;
use crate::function_words::is_restricting;
use crate::language::{Language, language_of};
use crate::meaning::plan_of;
use crate::plan::{Missing, Placement, Plan, PlannedCall, Step, View};
use crate::polite;
use crate::sentence::{matching, readings, sentence};
use crate::slots::{self, Slot, Value};
use crate::texts::Miss;
use crate::words::{Word, split};

/// Maximum size of a message that the planner parses, in bytes.
const MAX_MESSAGE_BYTES: usize = 16 * 1024;
/// How many questions in a row the planner remembers.
const MAX_QUESTIONS: usize = 4;
/// Maximum number of misspelt words in a request.
const MAX_TYPOS: usize = 2;
/// Maximum number of words in a request that is corrected.
const MAX_CORRECTED_WORDS: usize = 16;

/// What a message means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// Something to do or to say.
    Plan(Plan),
    /// A question whether a corrected message is meant.
    Correction(String),
    /// The person wants nothing done.
    Dropped,
    /// It is not understood.
    Miss(Miss),
}

/// Returns the language and the meaning of the last of these turns.
pub(crate) fn understand(turns: &[Turn<'_>]) -> (Language, Outcome) {
    let Some((turn, before)) = turns.split_last() else {
        return (Language::English, Outcome::Plan(Plan::Help));
    };
    interpret(turn.request, &context(before, MAX_QUESTIONS))
}

/// Returns what a message after these turns may refer to.
fn context(turns: &[Turn<'_>], questions: usize) -> Context {
    let mut context = Context::of(turns);
    let Some((last, before)) = turns.split_last() else { return context };
    context.language = language_of(last.request);
    if questions == 0 {
        return context;
    }
    if !last.rounds().is_empty() {
        context.last_plan = plan_again(last, &self::context(before, questions - 1));
        let earlier = before.iter().rev().take(MAX_QUESTIONS);
        let earlier = earlier.filter_map(|turn| language_of(turn.request)).next();
        context.language = context.language.or(earlier);
        return context;
    }
    // The earlier message is understood again. Its answer shows whether it was the planner that asked.
    let (language, outcome) = interpret(last.request, &self::context(before, questions - 1));
    context.language = Some(language);
    let asked = crate::say(&outcome, language);
    if last.last_text() == asked.as_deref() {
        context.pending = match outcome {
            Outcome::Plan(Plan::Ask(missing)) => Some(Pending::Slot(Box::new(missing))),
            Outcome::Correction(text) => {
                Some(Pending::Correction(text, Context::of(before).referents))
            }
            Outcome::Plan(_) | Outcome::Dropped | Outcome::Miss(_) => None,
        };
    }
    context
}

/// Returns what the request of a turn means, if that is what made the calls of the turn.
fn plan_again(turn: &Turn<'_>, before: &Context) -> Option<(Vec<Step>, View)> {
    let (_, Outcome::Plan(Plan::Run(steps, view))) = interpret(turn.request, before) else {
        return None;
    };
    let rounds = turn.rounds();
    let mut made = rounds.iter().flat_map(|round| round.calls).peekable();
    for step in &steps {
        let first = match step {
            Step::Call(call) => call,
            Step::ForEach(all) => &all.listing,
        };
        // A plan that stopped explains what it made until then.
        let Some(call) = made.next() else { break };
        if !first.is_made_as(call) {
            return None;
        }
        if let Step::ForEach(all) = step {
            while made.next_if(|call| call.tool == all.tool).is_some() {}
        }
    }
    made.next().is_none().then_some((steps, view))
}

fn interpret(text: &str, context: &Context) -> (Language, Outcome) {
    let language = language_of(text).or(context.language).unwrap_or(Language::English);
    let miss = |miss| (language, Outcome::Miss(miss));
    if text.len() > MAX_MESSAGE_BYTES {
        return miss(Miss::TooLong);
    }
    let Some(words) = split(text) else { return miss(Miss::TooLong) };
    let found = sentence(text, &words, context, language);
    if let Some(pending) = &context.pending
        && let Some(answered) = answered(text, &words, pending, found.as_ref(), context)
    {
        return answered;
    }
    if polite::trim(&words).is_empty() {
        return (language, Outcome::Plan(Plan::Help));
    }
    if let Some(on_several) = devices::several_devices(&words) {
        return (language, Outcome::Plan(Plan::Cannot(on_several)));
    }
    let says_nothing = |plan: &Plan| matches!(plan, Plan::Run(steps, _) if steps.is_empty());
    if let Some((language, plan)) = found.filter(|(_, plan)| !says_nothing(plan)) {
        return (language, resolved(plan, context));
    }
    match clauses::plan(text, &words, context, language) {
        Ok((language, plan)) => return (language, Outcome::Plan(plan)),
        Err(Some(clause)) => return miss(Miss::Clause(clause)),
        Err(None) => {}
    }
    if let Some(plan) = elsewhere(text, &words, context) {
        return (language, resolved(plan, context));
    }
    let restricting = words.iter().find(|it| it.quoted.is_none() && is_restricting(&it.key));
    if let Some(word) = restricting {
        return miss(Miss::Restricted(word.key.clone()));
    }
    let meant = corrected(text, &words, context, language)
        .or_else(|| folder_named(text, &words, context, language));
    match meant {
        Some((language, text)) => (language, Outcome::Correction(text)),
        None => miss(Miss::Unknown(crate::texts::nearest(&words, language))),
    }
}

/// Returns what an answer to the planner's question means. `None` where the message is another request.
fn answered(
    text: &str,
    words: &[Word],
    pending: &Pending,
    found: Option<&(Language, Plan)>,
    context: &Context,
) -> Option<(Language, Outcome)> {
    let language = context.language.unwrap_or(Language::English);
    match (found, pending) {
        (Some((_, Plan::No)), _) => Some((language, Outcome::Dropped)),
        (Some((_, Plan::Yes)), Pending::Correction(corrected, referents)) => {
            let before =
                Context { pending: None, referents: referents.clone(), ..Context::default() };
            let words = split(corrected)?;
            let (language, plan) = sentence(corrected, &words, &before, language)?;
            Some((language, resolved(plan, context)))
        }
        // "Call it Photos" is an answer, and what lacks something too is perhaps one.
        (None | Some((_, Plan::Ask(_))), Pending::Slot(missing)) => {
            let value = value_of(text, words, missing, context)?;
            let mut filled = missing.filled.clone();
            filled.set(missing.slot, Value::Text(value));
            let plan = plan_of(missing.meaning, &filled)?.placed(&missing.placement);
            Some((language, Outcome::Plan(plan)))
        }
        (_, Pending::Slot(_) | Pending::Correction(..)) => None,
    }
}

/// Returns the value of a missing slot from an answer such as "Photos" or "call it Photos".
fn value_of(text: &str, words: &[Word], missing: &Missing, context: &Context) -> Option<String> {
    let words = polite::trim(words);
    let slot = Slot::named(missing.slot)?;
    let slot = if matches!(slot, Slot::Path | Slot::Proper | Slot::It) {
        // A name that was asked for may be several words.
        Slot::Title
    } else if slot == Slot::Text {
        Slot::Words
    } else {
        slot
    };
    let words = if slot == Slot::Words { words } else { polite::name_only(words) };
    match slots::read(slot, text, words, &context.referents)? {
        Value::Text(value) => Some(value),
        Value::Referent(referent) => Some(referent.name),
        Value::Unknown => None,
    }
}

/// Returns the plan for a message that only names another device: "and on the server?".
fn elsewhere(text: &str, words: &[Word], context: &Context) -> Option<Plan> {
    let (left, device) = devices::device(text, polite::trim(words));
    let named = match (polite::trim(&left), device) {
        ([], Some(device)) => Some(device),
        // The answer to "On which device?" is its name alone.
        ([_, ..], None) if context.lacks_device => match polite::name_only(polite::trim(words)) {
            [name] => devices::device_name(text, name),
            _ => None,
        },
        _ => None,
    };
    named.map(|device| Plan::Repeat(Placement { device: Some(device), dry_run: false }, None))
}

/// Replaces a repetition by the calls that it repeats.
fn resolved(plan: Plan, context: &Context) -> Outcome {
    let Plan::Repeat(placement, path) = plan else { return Outcome::Plan(plan) };
    let (mut steps, view) = match &context.last_plan {
        Some(again) => again.clone(),
        // The names in those calls are of the first device.
        None if context.made_many => return Outcome::Miss(Miss::NothingToRepeat),
        None => (context.last_calls.iter().cloned().map(Step::Call).collect(), View::Sentences),
    };
    if steps.is_empty() {
        return Outcome::Miss(Miss::NothingToRepeat);
    }
    for step in &mut steps {
        let repeated = match step {
            Step::Call(call) => repeat(call, &placement, path.as_deref()),
            Step::ForEach(all) => path.is_none() && repeat(&mut all.listing, &placement, None),
        };
        if !repeated {
            return Outcome::Miss(Miss::NothingToRepeat);
        }
    }
    Outcome::Plan(Plan::Run(steps, view))
}

/// Makes a call one with another device or path. Returns false if it is none that can be repeated so.
fn repeat(call: &mut PlannedCall, placement: &Placement, path: Option<&str>) -> bool {
    let only_reads = orion_catalog::find(&call.tool).is_some_and(|(spec, _)| !spec.has_effects);
    let moved = path.is_none_or(|path| only_reads && call.set_path(path));
    place(call, placement);
    moved && call.tool != "undo_call"
}

fn place(call: &mut PlannedCall, placement: &Placement) {
    if placement.device.is_some() {
        call.placement.device.clone_from(&placement.device);
    }
    call.placement.dry_run |= placement.dry_run;
}

/// Returns a request to delete a name alone, such as "delete Test", as one to delete the folder of that name.
fn folder_named(
    text: &str,
    words: &[Word],
    context: &Context,
    first: Language,
) -> Option<(Language, String)> {
    let verb = polite::trim(words).first().filter(|_| words.len() <= MAX_CORRECTED_WORDS)?;
    [first, first.other()].into_iter().find_map(|language| {
        let folder = match language {
            Language::English => " folder",
            Language::Dutch => " map",
        };
        let mut named = text.to_owned();
        named.insert_str(verb.span_end(), folder);
        let (language, plan) = sentence(&named, &split(&named)?, context, language)?;
        let Plan::Run(steps, _) = plan else { return None };
        let is_one_word = |call: &PlannedCall| {
            let path = call.arguments.iter().find(|(name, _)| name == "path");
            path.is_some_and(|(_, path)| !path.as_str().unwrap_or_default().contains(' '))
        };
        let deletes = matches!(&*steps, [Step::Call(call)] if call.tool == "delete_directory" && is_one_word(call));
        deletes.then(|| (language, named.trim().to_owned()))
    })
}

/// Returns the message with its misspelt words corrected, if it then is a sentence of the grammar.
fn corrected(
    text: &str,
    words: &[Word],
    context: &Context,
    first: Language,
) -> Option<(Language, String)> {
    if words.len() > MAX_CORRECTED_WORDS {
        return None;
    }
    (1..=MAX_TYPOS).find_map(|typos| {
        readings(text, words).into_iter().find_map(|(words, _)| {
            let (language, found) = matching(text, &words, context, first, typos)?;
            // What is plainly in one language is not a misspelt sentence of the other.
            if language_of(text).is_some_and(|plain| plain != language) {
                return None;
            }
            let fixes: Vec<(&Word, &str)> = found
                .fixes
                .iter()
                .filter_map(|(at, word)| Some((words.get(*at)?, *word)))
                .collect();
            // Dutch words may have been reordered; only their positions in the text count.
            let mut corrected = text.to_owned();
            let mut spans: Vec<(usize, usize, &str)> = fixes
                .iter()
                .map(|(word, meant)| (word.start, word.start + word.key.len(), *meant))
                .collect();
            spans.sort_unstable();
            for (start, end, meant) in spans.into_iter().rev() {
                let fits = corrected.get(start..end)?.to_lowercase() != meant;
                if fits {
                    corrected.replace_range(start..end, meant);
                }
            }
            if corrected == text {
                return None;
            }
            let again = split(&corrected)?;
            let (_, plan) = sentence(&corrected, &again, context, language)?;
            let is_request = !matches!(plan, Plan::Yes | Plan::No | Plan::Help | Plan::Repeat(..));
            is_request.then(|| (language, corrected.trim().to_owned()))
        })
    })
}
