//! Counts rejected requests for the audit log, so that a flood cannot fill it. Each source and RPC gets at
//! most one row a minute, and the number of such pairs at once is limited.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::listen::Source;

/// Minimum time between two rows of one source and RPC, in milliseconds.
const INTERVAL_MS: i64 = 60_000;
/// How many pairs of source and RPC have rows of their own; the rest share one row.
const MAX_TALLIES: usize = 256;
/// The source and RPC in the shared row.
const OTHERS: &str = "others";

/// Why a request was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The RPC is not in the access table.
    UnknownRpc,
    /// The token is missing, unknown or no longer valid.
    NotSignedIn,
    /// The device showed no certificate.
    NoCertificate,
    /// The person's role does not permit the RPC.
    Role,
    /// The token's scopes do not permit the RPC.
    Scope,
    /// A rate or request limit is exceeded.
    Rate,
}

/// The body of an audit row about rejected requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Row {
    rpc: &'static str,
    why: Why,
    from: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    /// Number of rejected requests since the previous row.
    count: u64,
}

#[derive(Debug)]
struct Tally {
    /// When the last row was written, in Unix milliseconds.
    at: i64,
    /// The requests counted since the last row.
    row: Row,
}

/// The counts of rejected requests by source and RPC.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<HashMap<(String, &'static str), Tally>>);

impl Refusals {
    /// Counts a rejected request, and returns a row where one is due.
    pub(super) fn note(
        &self,
        rpc: &'static str,
        why: Why,
        source: Option<&Source>,
        user: Option<String>,
        now: i64,
    ) -> Option<Row> {
        let mut tallies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut from = source.map_or_else(|| OTHERS.to_owned(), ToString::to_string);
        let mut key = (from.clone(), rpc);
        let mut user = user;
        if !tallies.contains_key(&key) && tallies.len() >= MAX_TALLIES {
            from = OTHERS.to_owned();
            user = None;
            key = (from.clone(), OTHERS);
        }
        let tally = tallies.entry(key).or_insert_with(|| Tally {
            at: now - INTERVAL_MS,
            row: Row { rpc, why, from, user: None, count: 0 },
        });
        tally.row = Row { rpc, why, user, count: tally.row.count + 1, ..tally.row.clone() };
        (now - tally.at >= INTERVAL_MS).then(|| tally.take(now))
    }

    /// Returns the rows that are due, or all rows `at_the_end`. Idle sources are dropped.
    pub(super) fn due(&self, now: i64, at_the_end: bool) -> Vec<Row> {
        let mut tallies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rows = Vec::new();
        tallies.retain(|_, tally| {
            if !at_the_end && now - tally.at < INTERVAL_MS {
                return true;
            }
            let is_quiet = tally.row.count == 0;
            if !is_quiet {
                rows.push(tally.take(now));
            }
            !is_quiet
        });
        rows
    }
}

impl Tally {
    fn take(&mut self, now: i64) -> Row {
        let row = self.row.clone();
        self.at = now;
        self.row.count = 0;
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(n: u8) -> Source {
        Source::Address([192, 0, 2, n].into())
    }

    #[test]
    fn a_flood_from_one_place_is_a_row_a_minute_with_a_count() {
        let refusals = Refusals::default();
        let (here, bob) = (source(1), Some("bob".to_owned()));
        let mut rows = Vec::new();
        for at in 0..=60_000 {
            rows.extend(refusals.note("/a", Why::Role, Some(&here), bob.clone(), at));
        }
        rows.extend(refusals.due(119_999, false));
        assert_eq!(rows.iter().map(|row| row.count).collect::<Vec<_>>(), [1, 60_000]);
        assert_eq!(
            serde_json::to_value(&rows[0]).unwrap(),
            serde_json::json!({
                "rpc": "/a", "why": "role", "from": "192.0.2.1", "user": "bob", "count": 1
            })
        );
        assert_eq!(refusals.note("/a", Why::Role, Some(&here), None, 60_001), None);
        assert_eq!(refusals.due(120_000, false).len(), 1);
        assert!(refusals.due(180_000, false).is_empty());
        assert!(refusals.0.lock().unwrap().is_empty(), "a quiet source is still remembered");
    }

    #[test]
    fn many_places_share_a_row() {
        let refusals = Refusals::default();
        let mut rows = Vec::new();
        for n in 0..=255_u8 {
            for rpc in ["/a", "/b", "/c"] {
                rows.extend(refusals.note(rpc, Why::NotSignedIn, Some(&source(n)), None, 0));
            }
        }
        assert_eq!(rows.len(), MAX_TALLIES + 1);
        let last = refusals.due(1, true);
        assert_eq!(
            last.iter().map(|row| (row.from.as_str(), row.count)).collect::<Vec<_>>(),
            [(OTHERS, 511)]
        );
    }
}
