//! The calls of a story by number, because their ids differ from run to run.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use orion_domain::{CallId, CallState};

/// The answers to callers: the number of each call and its state.
pub(crate) type Reports = Arc<Mutex<Vec<(usize, Option<CallState>)>>>;

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) device: usize,
    /// Whether it only reads. A call that reads has no key and is not queued.
    pub(crate) is_read: bool,
    /// The idempotency key.
    pub(crate) key: String,
    /// The longest time in the queue, in milliseconds. `None` means that the call is not queued.
    pub(crate) queue_ms: Option<u64>,
    /// The timeout, in milliseconds.
    pub(crate) timeout_ms: u64,
    /// Whether the call reached its device.
    pub(crate) arrived: bool,
    /// Whether its device died before it could report the outcome for certain.
    pub(crate) may_stay_unknown: bool,
}

/// The calls of a story.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) all: Vec<Call>,
    numbers: HashMap<String, usize>,
}

impl Calls {
    pub(crate) fn add(&mut self, call: Call) -> usize {
        let number = self.all.len();
        self.numbers.insert(call.id.to_string(), number);
        self.all.push(call);
        number
    }

    /// Registers another id of a repeated call.
    pub(crate) fn alias(&mut self, number: usize, id: CallId) {
        self.numbers.insert(id.to_string(), number);
    }

    /// Marks calls whose device died and cannot know their outcome.
    pub(crate) fn may_stay_unknown(&mut self, calls: &BTreeSet<CallId>) {
        for number in calls.iter().filter_map(|id| self.numbers.get(&id.to_string())) {
            self.all[*number].may_stay_unknown = true;
        }
    }

    /// Returns whether an id is this call's.
    pub(crate) fn is(&self, number: usize, id: CallId) -> bool {
        self.number(&id.to_string()) == Some(number)
    }

    /// Returns the number of a call by the text of its id.
    pub(crate) fn number(&self, id: &str) -> Option<usize> {
        self.numbers.get(id).copied()
    }

    /// Returns the name of a call in the trace.
    pub(crate) fn name(&self, id: &str) -> String {
        self.number(id).map_or_else(|| "#?".to_owned(), |number| format!("#{number}"))
    }

    /// Returns the names of several calls, in their order.
    pub(crate) fn names(&self, ids: &[String]) -> String {
        let mut numbers: Vec<_> = ids.iter().map(|id| self.name(id)).collect();
        numbers.sort();
        numbers.join(" ")
    }
}
