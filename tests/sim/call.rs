//! The calls of a story by number: their ids differ from run to run.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use orion_domain::{CallId, CallState};

/// What became of each call, as whoever made it was told: its number and its state.
pub(crate) type Reports = Arc<Mutex<Vec<(usize, Option<CallState>)>>>;

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) device: usize,
    /// The name that whoever made it gave it.
    pub(crate) key: String,
    /// How long it may wait for its device, in milliseconds.
    pub(crate) queue_ms: Option<u64>,
    /// How long it may take, in milliseconds.
    pub(crate) timeout_ms: u64,
    /// Whether it reached its device.
    pub(crate) arrived: bool,
    /// Whether its device died before it could tell for certain how it ended.
    pub(crate) may_stay_unknown: bool,
}

/// See the module.
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

    /// The same call made once more has an id of its own, which counts as the call's.
    pub(crate) fn alias(&mut self, number: usize, id: CallId) {
        self.numbers.insert(id.to_string(), number);
    }

    /// The device of these calls is gone, and cannot know how they ended.
    pub(crate) fn may_stay_unknown(&mut self, calls: &BTreeSet<CallId>) {
        for number in calls.iter().filter_map(|id| self.numbers.get(&id.to_string())) {
            self.all[*number].may_stay_unknown = true;
        }
    }

    /// Whether an id is this call's.
    pub(crate) fn is(&self, number: usize, id: CallId) -> bool {
        self.number(&id.to_string()) == Some(number)
    }

    /// The number of a call by the text of its id.
    pub(crate) fn number(&self, id: &str) -> Option<usize> {
        self.numbers.get(id).copied()
    }

    /// How a call is named in the trace.
    pub(crate) fn name(&self, id: &str) -> String {
        self.number(id).map_or_else(|| "#?".to_owned(), |number| format!("#{number}"))
    }

    /// Several, in their order.
    pub(crate) fn names(&self, ids: &[String]) -> String {
        let mut numbers: Vec<_> = ids.iter().map(|id| self.name(id)).collect();
        numbers.sort();
        numbers.join(" ")
    }
}
