//! Word of refused requests for the audit, so that a flood cannot fill it: for each source and RPC
//! one row a minute at most, with a count, and a limited number of those at once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::listen::Source;

/// How often one source and RPC get a row, in milliseconds.
const INTERVAL_MS: i64 = 60_000;
/// How many sources and RPCs are told apart at once; the rest share a row.
const TOLD_APART: usize = 256;
/// What is in the row of the rest.
const OTHERS: &str = "others";

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Why {
    /// It is not in the table.
    UnknownRpc,
    /// There is no token, or it is good no more.
    NotSignedIn,
    /// There is no device's certificate.
    NoCertificate,
    /// The person's role is not enough.
    Role,
    /// The token is good for something else.
    Scope,
    /// There were too many.
    Rate,
}

/// What the audit holds of refused requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Row {
    rpc: &'static str,
    why: Why,
    from: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    /// How many since the row before.
    count: u64,
}

#[derive(Debug)]
struct Tally {
    /// When the last row was written.
    at: i64,
    /// What has come since.
    row: Row,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<HashMap<(String, &'static str), Tally>>);

impl Refusals {
    /// Counts a refusal, and gives a row where one is due.
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
        if !tallies.contains_key(&key) && tallies.len() >= TOLD_APART {
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

    /// The rows that are due, or all that there are at the end. Sources that are quiet are
    /// forgotten.
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
        assert_eq!(rows.len(), TOLD_APART + 1);
        let last = refusals.due(1, true);
        assert_eq!(
            last.iter().map(|row| (row.from.as_str(), row.count)).collect::<Vec<_>>(),
            [(OTHERS, 511)]
        );
    }
}
