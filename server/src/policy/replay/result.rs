//! The result of a replay: the numbers of calls, and samples.

use std::collections::BTreeMap;

use orion_domain::{CallId, Decision, DeviceName};

/// The numbers of replayed calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Evaluated under both policies.
    pub calls: u64,
    /// See [`super::Change::AllowedToDenied`].
    pub allowed_to_denied: u64,
    /// See [`super::Change::DeniedToAllowed`].
    pub denied_to_allowed: u64,
    /// See [`super::Change::DeniedToAsk`].
    pub denied_to_ask: u64,
    /// See [`super::Change::AllowedToAsk`].
    pub allowed_to_ask: u64,
    /// See [`super::Change::AskToAllowed`].
    pub ask_to_allowed: u64,
    /// Need approval under the active policy.
    pub asked_before: u64,
    /// Need approval under the candidate.
    pub asked_after: u64,
    /// Cannot be evaluated again.
    pub not_evaluated: u64,
}

impl Counts {
    /// Returns how many calls have the same decision under both.
    #[must_use]
    pub const fn unchanged(&self) -> u64 {
        self.calls
            - self.allowed_to_denied
            - self.denied_to_allowed
            - self.denied_to_ask
            - self.allowed_to_ask
            - self.ask_to_allowed
    }
}

/// A call with a different decision.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplaySample {
    /// The id of the call.
    pub call: CallId,
    /// The device of the call.
    pub device: DeviceName,
    /// The tool.
    pub tool: String,
    /// The person that the call was made for.
    pub user: String,
    /// The decision under the active policy.
    pub before: Decision,
    /// The decision under the candidate.
    pub after: Decision,
    /// The name of the rule that decides under the candidate.
    pub rule: String,
    /// The decision when the call was made.
    pub recorded: String,
    /// Unix milliseconds.
    pub at: i64,
}

/// The result of a replay.
#[derive(Debug, Clone, Default)]
pub struct ReplayResult {
    /// The numbers of calls.
    pub counts: Counts,
    /// At most 20 of each kind, the oldest.
    pub samples: Vec<ReplaySample>,
    /// For how many calls each rule of the candidate that only logs would do what.
    pub logged: BTreeMap<(String, &'static str), u64>,
    /// When the oldest replayed call was made, Unix milliseconds. None if no call was left out.
    pub evaluated_since: Option<i64>,
}
