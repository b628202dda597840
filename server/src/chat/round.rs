//! The calls of one answer: those that cannot disturb each other run at the same time, the others in order.

use std::collections::HashSet;

use futures_util::future::join_all;
use orion_catalog::Content;
use orion_domain::extract::{ExtractProblem, ExtractedCall};
use orion_domain::{CallId, Digest};

use super::call::{Prepared, identity_of};
use super::error::ChatError;
use super::turn::{Turn, unread};
use super::{prompt, relay};
use crate::clock::new_uuid;
use crate::model::{Answer, Message, NativeCall};
use crate::pipeline::validate::{self, Target};
use crate::pipeline::{self, CallView, names};

/// Maximum number of calls of one answer that are made.
const MAX_CALLS: usize = 64;
/// Maximum number of calls that run at the same time.
const MAX_AT_ONCE: usize = 8;

/// How much of its own words a model gets back with a correction, in bytes.
const MAX_WRITTEN_BYTES: usize = 16 * 1024;

/// A call of an answer, with its ids.
struct Planned {
    /// The id by which the model knows the call.
    native_id: String,
    /// The id in the store.
    id: CallId,
    written: ExtractedCall,
    reach: Reach,
}

/// What a call can disturb.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reach {
    /// What equal calls share.
    identity: Digest,
    /// The device. None where none was found, or where the call reaches several.
    device: Option<String>,
    only_reads: bool,
}

impl Reach {
    fn new(written: &ExtractedCall, target: Option<&Target>) -> Self {
        let alone = target.filter(|it| it.spec.content != Content::FromDevice);
        Self {
            identity: identity_of(written),
            device: alone.map(|target| target.device.name.to_string()),
            only_reads: target.is_some_and(|target| !target.spec.has_effects),
        }
    }

    /// Returns whether both can run at the same time. Equal calls cannot: the first may fail for good.
    fn goes_with(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (&self.device, &other.device) else { return false };
        self.identity != other.identity && (one != two || (self.only_reads && other.only_reads))
    }
}

impl Turn<'_> {
    /// Makes the calls of an answer, and keeps their results for the model.
    pub(super) async fn round(
        &mut self,
        mut calls: Vec<ExtractedCall>,
        problems: Vec<ExtractProblem>,
        answer: Answer,
    ) -> Result<(), ChatError> {
        let surplus = calls.len().saturating_sub(MAX_CALLS);
        calls.truncate(MAX_CALLS);
        let mut correction = None;
        if !problems.is_empty() {
            let text = unread(&problems);
            self.note(&text).await?;
            correction = Some(Message::user(format!("{text}. Write it again, correctly.")));
        }
        if calls.is_empty() {
            // Without its own words, a model does not know what it should write again.
            let written = prompt::capped(written(&answer).as_bytes(), MAX_WRITTEN_BYTES);
            self.messages.push(Message::assistant(written, Vec::new()));
            self.messages.extend(correction);
            return Ok(());
        }
        let (planned, native) = self.plan(calls).await?;
        let made = planned.iter().map(|call| call.id).collect();
        let state = answer.state;
        self.keep(Message { state, made, ..Message::assistant(String::new(), native) }).await?;
        let mut rest = planned.into_iter().peekable();
        while let Some(first) = rest.next() {
            let mut group = vec![first];
            let fits = |next: &Planned, group: &[Planned]| {
                group.len() < MAX_AT_ONCE && group.iter().all(|it| it.reach.goes_with(&next.reach))
            };
            while let Some(next) = rest.next_if(|next| fits(next, &group)) {
                group.push(next);
            }
            self.run(group).await?;
        }
        if surplus > 0 {
            let text = format!(
                "Only the first {MAX_CALLS} calls of that answer were made; {surplus} were not."
            );
            self.note(&text).await?;
            self.messages.push(Message::user(text));
        }
        // The model learns of what could not be read beside the results of the rest.
        self.messages.extend(correction);
        Ok(())
    }

    /// Gives each call its ids, and returns them also as the model sees them.
    async fn plan(
        &self,
        calls: Vec<ExtractedCall>,
    ) -> Result<(Vec<Planned>, Vec<NativeCall>), ChatError> {
        let (mut planned, mut native) = (Vec::new(), Vec::new());
        let mut taken = HashSet::new();
        for mut written in calls {
            let id = CallId::new(new_uuid());
            // The ids of text forms are the model's own words: they may be empty, or the same twice. The id in
            // the store is one that no model can have written before.
            let given = written.id.take().filter(|id| !id.is_empty() && !taken.contains(id));
            let native_id = given.unwrap_or_else(|| id.to_string());
            taken.insert(native_id.clone());
            let mut request = pipeline::extract::request(written.clone());
            names::resolve(self.pipeline, &self.caller, &mut request).await?;
            let target = validate::target(self.pipeline, &request).ok();
            native.push(NativeCall {
                id: native_id.clone(),
                name: written.tool.clone(),
                // An alias may stand for a tool with secrets.
                arguments: relay::arguments_text(&written, &request.tool),
            });
            let reach = Reach::new(&written, target.as_ref());
            planned.push(Planned { native_id, id, written, reach });
        }
        Ok((planned, native))
    }

    /// Runs calls at the same time. Their results are kept in the order of the calls.
    async fn run(&mut self, group: Vec<Planned>) -> Result<(), ChatError> {
        let mut prepared: Vec<(String, Prepared)> = Vec::with_capacity(group.len());
        for Planned { native_id, id, written, .. } in group {
            prepared.push((native_id, self.prepare(id, written).await?));
        }
        let keys: Vec<_> =
            prepared.iter().map(|(native_id, call)| (native_id.clone(), call.key)).collect();
        let running: Vec<_> = prepared.into_iter().map(|(_, call)| self.perform(call)).collect();
        let replies = join_all(running).await;
        for ((native_id, key), reply) in keys.into_iter().zip(replies) {
            let reply = reply?;
            self.remember(key, &reply);
            self.keep_result(native_id, &reply).await?;
        }
        Ok(())
    }

    /// Keeps a result for the model, after its content is recorded as content.
    pub(super) async fn keep_result(
        &mut self,
        native_id: String,
        reply: &CallView,
    ) -> Result<(), ChatError> {
        if let Some(conversation) = self.caller.conversation {
            self.taint.record_result(&self.pipeline.store, conversation, reply).await?;
        }
        let limit = self.pipeline.config.chat.result_limit;
        let result = relay::result_of(reply);
        self.keep(Message::tool(native_id, prompt::capped(&result, limit))).await
    }
}

/// Returns what a model wrote, with its native calls as text: those that cannot be read have no other form.
fn written(answer: &Answer) -> String {
    let calls = answer.native_calls.iter().map(|call| format!("{}({})", call.name, call.arguments));
    let text = Some(answer.text.clone()).filter(|text| !text.trim().is_empty());
    text.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_run_together_on_different_devices_or_where_they_only_read() {
        let reach = |name: &str, device: Option<&str>, only_reads| Reach {
            identity: Digest::of_fields("test", &[name.as_bytes()]),
            device: device.map(str::to_owned),
            only_reads,
        };
        let read = |name: &str, device: &str| reach(name, Some(device), true);
        let write = |name: &str, device: &str| reach(name, Some(device), false);
        for (one, other, together) in [
            (read("a", "kiosk"), read("b", "kiosk"), true),
            (read("a", "kiosk"), read("a", "kiosk"), false),
            (read("a", "kiosk"), write("b", "kiosk"), false),
            (write("a", "kiosk"), write("b", "kiosk"), false),
            (write("a", "kiosk"), write("b", "nas"), true),
            (reach("a", None, false), write("b", "nas"), false),
            (reach("a", None, true), read("b", "nas"), false),
        ] {
            assert_eq!(one.goes_with(&other), together, "{one:?} {other:?}");
            assert_eq!(other.goes_with(&one), together, "{other:?} {one:?}");
        }
    }
}
