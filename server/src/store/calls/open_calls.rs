//! What this process knows of the calls that it opened and that have not ended: whether they change anything,
//! and their history. It only makes changes cheaper: the database checks what is assumed here.

use dashmap::DashMap;
use orion_domain::{CallId, CallState};
use tokio::sync::oneshot;

use super::{NewCall, StateChange, durability};
use crate::store::StoreError;
use crate::store::db::{Applied, Durability};

/// The limit of calls that are known; calls beyond the limit are treated as calls with effects.
const MAX_CALLS: usize = 100_000;

/// The result of storing a call that was not waited for.
type Opening = oneshot::Receiver<Result<Applied, StoreError>>;

/// The known calls.
#[derive(Debug, Default)]
pub(in crate::store) struct OpenCalls(DashMap<CallId, OpenCall>);

#[derive(Debug)]
struct OpenCall {
    has_effects: bool,
    /// The changes of state, oldest first. None once another change may have followed.
    history: Option<Vec<StateChange>>,
    /// Gets the result of storing the call. None if it was waited for.
    opening: Option<Opening>,
}

impl OpenCalls {
    /// Adds a call before it is stored: a result may arrive at any moment after that. Returns `false` if
    /// there is no room, or nothing to gain.
    pub(in crate::store) fn track(&self, call: &NewCall) -> bool {
        let is_sent = call.state == CallState::Dispatched;
        if (call.has_effects && !is_sent) || self.0.len() >= MAX_CALLS {
            return false;
        }
        let history = Some(StateChange::of_new(call));
        let known = OpenCall { has_effects: call.has_effects, history, opening: None };
        self.0.insert(call.id, known);
        true
    }

    /// Removes a call that has ended, or was not stored.
    pub(in crate::store) fn untrack(&self, call: CallId) {
        self.0.remove(&call);
    }

    /// Returns what a change of this call must survive. A call that is not known is treated as one with
    /// effects.
    pub(in crate::store) fn durability_of(&self, call: CallId) -> Durability {
        durability(self.0.get(&call).is_none_or(|known| known.has_effects))
    }

    /// Returns the call's history as far as it is known.
    pub(super) fn history(&self, call: CallId) -> Option<Vec<StateChange>> {
        self.0.get(&call)?.history.clone()
    }

    /// Forgets the history of a call that is about to change.
    pub(in crate::store) fn change(&self, call: CallId) {
        if let Some(mut known) = self.0.get_mut(&call) {
            known.history = None;
        }
    }

    /// Remembers that storing a call was not waited for.
    pub(super) fn opens(&self, call: CallId, opening: Opening) {
        if let Some(mut known) = self.0.get_mut(&call) {
            known.opening = Some(opening);
        }
    }

    /// Returns why a call that was not waited for was not stored. None if it was, or is not known.
    pub(super) fn opening_error(&self, call: CallId) -> Option<StoreError> {
        let opening = self.0.get_mut(&call)?.opening.take();
        // The writer answers in the order of its changes, so an answer is there where a later change was
        // answered.
        opening?.try_recv().ok()?.err()
    }
}
