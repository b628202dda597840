//! Asks the question about a call, and says that it waits: at the device, and to the backend.

use std::sync::Arc;

use orion_domain::{CallId, Observation};
use orion_wire::v1::{self, link_request};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::super::Agent;
use super::super::event::Event;
use super::answer::answer;
use super::errors::unusable;
use super::{ConsentEvent, ConsentStep};
use crate::activity::Step;
use crate::call::Outcome;
use crate::clock::{now_ms, shown};
use crate::consent::{Folder, Question, Subject, to_compare};

impl Agent {
    /// Asks about a call whose preview has ended.
    pub(super) fn previewed(&mut self, call: CallId, outcome: Outcome) {
        let text = text_of(&outcome);
        let seen = outcome.observed.clone().unwrap_or_default();
        let Some(asked) = self.asked.get_mut(&call) else { return };
        if asked.call.dry_run && asked.spec.has_effects {
            let observed = outcome.observed.filter(|_| asked.call.observe);
            asked.previewed = Some(Outcome { observed, ..outcome });
        }
        self.open_question(call, &text, seen);
    }

    /// Asks the question about a call. `seen` is what its preview saw.
    pub(super) fn open_question(&mut self, call: CallId, preview: &str, seen: Vec<Observation>) {
        let time = self.settings.consent.time();
        let Some(asked) = self.asked.get_mut(&call) else { return };
        match to_compare(&asked.call.observed, seen) {
            Ok(observed) => asked.observed = observed,
            Err(error) => return self.end_asked(call, error),
        }
        let left = asked.deadline.saturating_duration_since(Instant::now());
        let time = time.min(left);
        let now = now_ms();
        let until = now.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
        let mut arguments = asked.call.arguments_value.clone();
        drop(asked.spec.take_secrets(&mut arguments));
        let subject = Subject {
            call: &call.to_string(),
            tool: asked.spec.name,
            risk: asked.risk,
            user: asked.call.caller.user.as_str(),
            why: &asked.why,
            arguments: &arguments,
            digest: asked.call.arguments.digest(),
            touches: &asked.touches,
        };
        let question = Question::new(subject, preview, &asked.observed, (now, until));
        let folder = Folder::new(self.state.dir());
        let open = match folder.ask(&question) {
            Ok(open) => open,
            Err(error) => {
                tracing::error!(%error, "a question could not be written");
                return self.end_asked(call, unusable("the question could not be written"));
            }
        };
        tracing::info!(
            %call, tool = asked.spec.name, question = open.id,
            "a call waits for the person at the device: {}",
            self.options.add_to("orion-agent consent list")
        );
        let (events, is_over) = (self.events.clone(), Arc::clone(&asked.is_over));
        let (waits_for, ends) = (open.clone(), Instant::now() + time);
        let waiting = tokio::spawn(async move {
            let what = ConsentStep::Answered(answer(folder, waits_for, ends).await);
            drop(events.send(Event::Consent(ConsentEvent { call, is_over, what })).await);
        });
        asked.open = Some((open, AbortOnDropHandle::new(waiting)));
        let (about, touches) = (asked.call.clone(), asked.touches.clone());
        self.notice_question(&about);
        self.happened(Step::Asked, &about, Some(&touches));
        self.say_that_it_waits(call, shown(until));
    }

    /// Tells the backend that a call waits for the person. Never an argument of it.
    fn say_that_it_waits(&mut self, call: CallId, until: String) {
        self.say_progress(call, format!("waits for the person at the device, until {until}"));
    }

    /// Tells the backend how far a call is.
    pub(super) fn say_progress(&mut self, call: CallId, note: String) {
        let progress = v1::CallProgress { call_id: call.to_string(), done: 0, total: 0, note };
        self.send(link_request::Message::CallProgress(progress));
    }

    /// Tells a backend that is connected again about every call that waits.
    pub(in crate::agent) fn say_what_waits(&mut self) {
        let waiting = self.asked.iter();
        let waiting = waiting.filter_map(|(call, asked)| {
            asked.open.as_ref().map(|(open, _)| (*call, shown(open.question.expires_at)))
        });
        for (call, until) in waiting.collect::<Vec<_>>() {
            self.say_that_it_waits(call, until);
        }
    }
}

/// Returns what a preview says, as lines: its sentences, and the difference of files.
fn text_of(outcome: &Outcome) -> String {
    let data: serde_json::Value =
        serde_json::from_str(outcome.data.get()).unwrap_or(serde_json::Value::Null);
    let diff = data.get("diff").and_then(serde_json::Value::as_str).map(ToOwned::to_owned);
    let lines = [outcome.message.clone()].into_iter().chain(diff);
    lines.collect::<Vec<_>>().join("\n")
}
