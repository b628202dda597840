//! The changes of a call's state, which are its history.

use orion_domain::CallState;
use serde::{Deserialize, Serialize};

use super::NewCall;

/// One change of a call's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// The new state.
    pub state: CallState,
    /// Unix milliseconds.
    pub at: i64,
}

impl StateChange {
    /// Returns the history of a new call: received, and the state that it begins in.
    pub(super) fn of_new(call: &NewCall) -> Vec<Self> {
        let at = call.created_at;
        let mut history = vec![Self { state: CallState::Received, at }];
        if call.state != CallState::Received {
            history.push(Self { state: call.state, at });
        }
        history
    }

    /// Returns a history as it is stored: the inside of a JSON array, so that SQL can append to it without
    /// reading it.
    pub(super) fn text(history: &[Self]) -> String {
        let changes: Vec<_> = history
            .iter()
            .map(|Self { state, at }| format!(r#"{{"state":"{state}","at":{at}}}"#))
            .collect();
        changes.join(",")
    }

    /// Returns the change as an addition to a stored history.
    pub(super) fn next(self) -> String {
        format!(",{}", Self::text(&[self]))
    }

    /// Parses a history.
    pub(super) fn parse(history: &str) -> Result<Vec<Self>, serde_json::Error> {
        serde_json::from_str(&format!("[{history}]"))
    }
}
