//! Handles what a running call reports: its start, its progress and its end.

use orion_domain::CallId;
use orion_wire::v1::{self, link_request};

use super::Agent;
use crate::clock::now_ms;
use crate::execute::{CallEvent, Slot};
use crate::journal::Ended;

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
                let is_idle = self
                    .phase
                    .linked()
                    .is_some_and(|linked| linked.out.capacity() == linked.out.max_capacity());
                if is_idle && self.outbox.is_empty() {
                    let call_id = call.to_string();
                    let progress = v1::CallProgress { call_id, done, total, note };
                    self.send(link_request::Message::CallProgress(progress));
                }
            }
            CallEvent::Finished { call, ended, slot } => self.finished(call, ended, slot).await,
        }
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
        let written = self.journal.end(call, ended.clone(), now_ms()).await;
        self.note_and_send(call, about.as_ref(), &ended, written);
    }
}
