//! Handles what a running call reports: its start, its progress and its end.

use orion_domain::CallId;
use orion_wire::v1::{self, link_request};

use super::Agent;
use crate::clock::now_ms;
use crate::execute::{CallEvent, Slot};
use crate::journal::Ended;

/// How many messages may wait for the link before a call's output is left out, so that results are not late.
const MAX_BEFORE_OUTPUT: usize = 4;

impl Agent {
    /// Handles an event of a call.
    pub(super) async fn call_event(&mut self, event: CallEvent) {
        match event {
            CallEvent::Started { call } => {
                let call_id = call.to_string();
                self.send(link_request::Message::CallStarted(v1::CallStarted { call_id }));
            }
            CallEvent::Progress { call, done, total, note } => {
                // Late progress is useless, so it is dropped when any message waits.
                if self.waiting_messages() == Some(0) {
                    let call_id = call.to_string();
                    let progress = v1::CallProgress { call_id, done, total, note };
                    self.send(link_request::Message::CallProgress(progress));
                }
            }
            CallEvent::Output { call, offset, data } => {
                // Output is left out only where the link is busy, because those who watch miss it.
                if self.waiting_messages().is_some_and(|count| count < MAX_BEFORE_OUTPUT) {
                    let (call_id, data) = (call.to_string(), data.into());
                    let output = v1::CallOutput { call_id, offset, data };
                    self.send(link_request::Message::CallOutput(output));
                }
            }
            CallEvent::Finished { call, ended, slot } => self.finished(call, ended, slot).await,
        }
    }

    /// Returns how many messages wait for the link. `None` where there is none.
    fn waiting_messages(&self) -> Option<usize> {
        let out = &self.phase.linked()?.out;
        Some(self.outbox.len() + out.max_capacity() - out.capacity())
    }

    /// Handles the end of a call. A call that missed its deadline frees its slot now, and ends when its
    /// thread ends.
    pub(super) async fn finished(&mut self, call: CallId, ended: Ended, slot: Slot) {
        let running = self.running.remove(&call).or_else(|| self.given_up.remove(&call));
        let about = running.as_ref().and_then(|running| running.about.clone());
        match (slot, running) {
            (Slot::GivenUp, Some(running)) => drop(self.given_up.insert(call, running)),
            (Slot::GivenUp, None) | (Slot::Free, _) => {
                while self.tasks.try_join_next().is_some() {}
            }
        }
        self.ended(call, &ended);
        if self.pause.is_some() {
            // `orion-agent pause` waits for the end of the last call.
            self.write_status();
        }
        let written = self.journal.end(call, ended.clone(), now_ms()).await;
        self.note_and_send(call, about.as_ref(), &ended, written);
    }
}
