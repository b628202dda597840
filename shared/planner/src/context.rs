//! What a request may refer to: the calls of this chat before it, and the planner's own question.
//!
//! Everything comes from recorded calls and the person's own messages. The content of results is not read,
//! apart from whether a call succeeded, where it ran and its error code.

use serde_json::{Map, Value};

use crate::conversation::{Call, Message};
use crate::language::Language;
use crate::plan::{PlannedCall, Step, View};
use crate::referents::Referents;
use crate::results::ResultFacts;
use crate::texts;

/// A request and what followed it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn<'a> {
    /// The messages before it.
    pub(crate) before: &'a [Message<'a>],
    /// The person's words.
    pub(crate) request: &'a str,
    /// The messages after the request.
    pub(crate) after: &'a [Message<'a>],
}

/// An answer with calls, and their results.
#[derive(Debug)]
pub(crate) struct Round<'a> {
    pub(crate) calls: &'a [Call<'a>],
    pub(crate) results: Vec<&'a str>,
}

impl<'a> Turn<'a> {
    /// Returns the turns of a conversation.
    pub(crate) fn all(conversation: &'a [Message<'a>]) -> Vec<Self> {
        let starts: Vec<usize> = conversation
            .iter()
            .enumerate()
            .filter(|(_, message)| message.request().is_some())
            .map(|(at, _)| at)
            .collect();
        let ends = starts.iter().skip(1).copied().chain([conversation.len()]);
        starts
            .iter()
            .zip(ends)
            .filter_map(|(start, end)| {
                Some(Self {
                    before: conversation.get(..*start)?,
                    request: conversation.get(*start)?.request()?,
                    after: conversation.get(start + 1..end)?,
                })
            })
            .collect()
    }

    /// Returns the answers with calls.
    pub(crate) fn rounds(&self) -> Vec<Round<'a>> {
        let mut rounds: Vec<Round<'a>> = Vec::new();
        for message in self.after {
            if !message.calls().is_empty() {
                rounds.push(Round { calls: message.calls(), results: Vec::new() });
            }
            if let (Some(envelope), Some(round)) = (message.envelope(), rounds.last_mut()) {
                round.results.push(envelope);
            }
        }
        rounds
    }

    /// Returns the text of the answer without calls that ended the turn.
    pub(crate) fn last_text(&self) -> Option<&'a str> {
        self.after.last().and_then(Message::text)
    }
}

/// What the planner lacks, and asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Pending {
    /// The value of a slot.
    Slot(Box<crate::plan::Missing>),
    /// Whether a corrected request is meant, whose pronouns refer to what was there before the question.
    Correction(String, Referents),
}

/// What a request may refer to.
#[derive(Debug, Default)]
pub(crate) struct Context {
    /// What pronouns refer to.
    pub(crate) referents: Referents,
    /// The calls of the last turn that made calls.
    pub(crate) last_calls: Vec<PlannedCall>,
    /// What the request of that turn means again, where that is what made its calls.
    pub(crate) last_plan: Option<(Vec<Step>, View)>,
    /// Whether several calls were made at once there. What they name may come from a listing.
    pub(crate) made_many: bool,
    /// Whether the last of them failed because it named no device.
    pub(crate) lacks_device: bool,
    /// The language of the last turn that was understood.
    pub(crate) language: Option<Language>,
    /// The planner's open question.
    pub(crate) pending: Option<Pending>,
}

impl Context {
    /// Returns what the turns' calls were about, without the planner's question.
    pub(crate) fn of(turns: &[Turn<'_>]) -> Self {
        let mut context = Self::default();
        for turn in turns {
            let rounds = turn.rounds();
            if rounds.is_empty() {
                // The person named something, and was asked whether it is meant: nothing older is.
                if turn.last_text().is_some_and(texts::is_correction) {
                    context.referents.forget_paths();
                }
                continue;
            }
            context.last_calls.clear();
            context.made_many = rounds.iter().any(|round| round.calls.len() > 1);
            context.lacks_device = false;
            for round in &rounds {
                for (nth, call) in round.calls.iter().enumerate() {
                    let result = round.results.get(nth).copied().unwrap_or_default();
                    context.add(call, &ResultFacts::read(result));
                }
                // Of several things at once, none is meant.
                if round.calls.len() > 1 {
                    context.referents.forget_paths();
                }
            }
        }
        context
    }

    fn add(&mut self, call: &Call<'_>, result: &ResultFacts) {
        let Ok(arguments) = serde_json::from_str::<Map<String, Value>>(&call.arguments) else {
            return;
        };
        let device = Some(result.text("/meta/device")).filter(|it| !it.is_empty());
        self.lacks_device = result.text("/error/code") == "DEVICE_REQUIRED";
        let argument =
            |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_full = call.tool == "delete_directory" && result.text("/error/code") == "NOT_EMPTY";
        if is_full {
            // It is there, and the answer proposes to delete it with everything in it: nothing older is meant.
            self.referents.forget_paths();
            self.referents.add(&call.tool, device.map(str::to_owned), argument);
        } else if result.succeeded() && !result.dry_run() {
            let device = device.map(str::to_owned);
            if call.tool == "undo_call" {
                let paths = arguments.get("paths").and_then(Value::as_array);
                let paths: Vec<_> = paths.into_iter().flatten().filter_map(Value::as_str).collect();
                // What an undo removed is not there any more.
                let is_there = result.text("/data/paths/0/outcome") == "restored";
                self.referents.add_undone(&paths, is_there, device);
            } else {
                self.referents.add(&call.tool, device, argument);
            }
        } else if !result.dry_run() {
            // What was named last is not there, and nothing older is meant.
            self.referents.forget_paths();
        }
        self.last_calls.push(PlannedCall::recorded(call, arguments));
    }
}
