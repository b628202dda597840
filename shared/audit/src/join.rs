//! Compares the backend's audit with devices' exports. Every call that a device recorded must have a row
//! at the backend with the same outcome. Every call that the backend reports as run must be in the
//! device's chain. Each side's heads, as the other recorded them, must match. A device's export must be
//! signed with the key that the device enrolled with, by the backend's rows.

mod mismatch;

use std::collections::{BTreeMap, HashMap, HashSet};

use orion_domain::audit::{AuditHead, AuditRow};
use orion_domain::{CallState, Digest};
use serde::Deserialize;

use crate::device::{DeviceChain, DeviceEntry, SignedChain};

pub use mismatch::Mismatch;

/// The maximum number of reported mismatches.
const MAX_MISMATCHES: usize = 100;

/// The result of the comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Joined {
    /// Calls with the same outcome on both sides.
    pub calls: u64,
    /// Calls that the device recorded and has not reported yet, or that the backend has not closed.
    pub pending: u64,
    /// Calls that ended before the device's first stored entry.
    pub before: u64,
    /// Calls whose outcome the device recorded, and reported as `unknown` when asked again after it had
    /// dropped the result, as by a backend whose database was restored.
    pub forgotten: u64,
    /// Heads of one side that the other recorded, and that match.
    pub heads: u64,
    /// The mismatches; at most a hundred.
    pub problems: Vec<Mismatch>,
}

/// What the backend's rows contain about one call.
#[derive(Debug)]
struct Call {
    device: String,
    arguments: Option<Digest>,
    has_effects: bool,
    is_closed: bool,
    reported: Vec<ReportedEnd>,
    /// Whether the device reported the outcome as unknown, without an entry.
    is_forgotten: bool,
}

/// An outcome that the device reported.
#[derive(Debug)]
struct ReportedEnd {
    entry: i64,
    state: CallState,
    result: Digest,
}

#[derive(Deserialize)]
struct Opened {
    device_id: Option<String>,
    arguments_digest: Option<Digest>,
    #[serde(default)]
    has_effects: bool,
}

#[derive(Deserialize)]
struct Enrolled {
    device_id: String,
    public_key_fingerprint: Digest,
}

#[derive(Deserialize)]
struct Ended {
    state: CallState,
    result_digest: Digest,
    witness: Option<Witness>,
}

/// The state of the device's chain, as a row contains it.
#[derive(Deserialize)]
struct Witness {
    /// The device's entry for the call; 0 where there is none.
    entry: i64,
    /// The position of the device's head when it reported.
    seq: i64,
    hash: Digest,
}

/// Compares the two sides while it reads the backend's rows.
#[derive(Debug)]
pub struct Join {
    devices: BTreeMap<String, DeviceChain>,
    /// The fingerprints of the signing keys of devices whose enrolment row was not read yet.
    keys: BTreeMap<String, Digest>,
    /// Backend rows that devices recorded, with device, entry and hash.
    seen: HashMap<i64, Vec<(String, i64, Digest)>>,
    calls: HashMap<String, Call>,
    joined: Joined,
}

impl Join {
    /// Starts with the exports of some devices, which are verified already.
    #[must_use]
    pub fn new(exports: impl IntoIterator<Item = SignedChain>) -> Self {
        let mut join = Self {
            devices: BTreeMap::new(),
            keys: BTreeMap::new(),
            seen: HashMap::new(),
            calls: HashMap::new(),
            joined: Joined::default(),
        };
        for SignedChain { chain, at: _, key } in exports {
            join.keys.insert(chain.header.device.clone(), key);
            join.devices.insert(chain.header.device.clone(), chain);
        }
        for (device, chain) in &join.devices {
            for entry in chain.entries.iter().filter(|entry| entry.backend != AuditHead::EMPTY) {
                let saw = (device.clone(), entry.seq, entry.backend.hash);
                join.seen.entry(entry.backend.seq).or_default().push(saw);
            }
        }
        join
    }

    fn problem(&mut self, problem: Mismatch) {
        if self.joined.problems.len() < MAX_MISMATCHES {
            self.joined.problems.push(problem);
        }
    }

    /// Reads the next row of the backend's chain, which is verified already.
    pub fn row(&mut self, row: &AuditRow) {
        for (device, entry, hash) in self.seen.remove(&row.seq).unwrap_or_default() {
            if hash == row.hash {
                self.joined.heads += 1;
            } else {
                self.problem(Mismatch::BackendForked { device, entry, row: row.seq });
            }
        }
        let read = match row.kind.as_str() {
            "device.enrolled" => self.enrolled(row),
            "call.opened" => self.opened(row),
            "call.closed" | "call.reconciled" | "call.late_result" => self.ended(row),
            _ => Ok(()),
        };
        if read.is_err() {
            self.problem(Mismatch::Unreadable { row: row.seq, kind: row.kind.clone() });
        }
    }

    /// Compares the key that a device enrolled with and the key that signed its export.
    fn enrolled(&mut self, row: &AuditRow) -> serde_json::Result<()> {
        let Enrolled { device_id: device, public_key_fingerprint } =
            serde_json::from_str(&row.body)?;
        // A device's id is never reused.
        if self.keys.remove(&device).is_some_and(|key| key != public_key_fingerprint) {
            self.problem(Mismatch::OtherKey { device, row: row.seq });
        }
        Ok(())
    }

    fn opened(&mut self, row: &AuditRow) -> serde_json::Result<()> {
        let opened: Opened = serde_json::from_str(&row.body)?;
        let Some(device) = opened.device_id.filter(|device| self.devices.contains_key(device))
        else {
            return Ok(());
        };
        let call = Call {
            device,
            arguments: opened.arguments_digest,
            has_effects: opened.has_effects,
            is_closed: false,
            reported: Vec::new(),
            is_forgotten: false,
        };
        self.calls.insert(row.call_id.clone(), call);
        Ok(())
    }

    fn ended(&mut self, row: &AuditRow) -> serde_json::Result<()> {
        let Some(call) = self.calls.get_mut(&row.call_id) else { return Ok(()) };
        let ended: Ended = serde_json::from_str(&row.body)?;
        call.is_closed = true;
        let (device, has_effects) = (call.device.clone(), call.has_effects);
        let Some(Witness { entry, seq, hash }) = ended.witness else {
            // A call that the backend ended alone did not run, or its outcome is unknown.
            if has_effects && ended.state == CallState::Succeeded {
                let call = row.call_id.clone();
                self.problem(Mismatch::NotOnDevice { device, row: row.seq, call });
            }
            return Ok(());
        };
        let is_unknown = ended.state == CallState::Unknown;
        call.is_forgotten |= is_unknown && entry == 0;
        if entry > 0 {
            call.reported.push(ReportedEnd {
                entry,
                state: ended.state,
                result: ended.result_digest,
            });
        }
        let Some(chain) = self.devices.get(&device) else { return Ok(()) };
        let from = chain.header.from.seq;
        let fits = chain.hash_at(seq).map(|own| own == hash);
        let noted = chain.entry(entry).map(|noted| noted.what.call_id == row.call_id);
        match fits {
            Some(true) => self.joined.heads += 1,
            // The position is before the device's first stored entry.
            None if seq < from => {}
            None if seq == 0 && hash == Digest::ZERO => {}
            Some(false) | None => {
                let device = device.clone();
                self.problem(Mismatch::DeviceForked { device, row: row.seq, entry: seq });
            }
        }
        match noted {
            Some(true) => {}
            None if entry > 0 && entry <= from => self.joined.before += 1,
            // A call that did not run is not always recorded.
            None if entry == 0 && (!has_effects || ended.state != CallState::Succeeded) => {}
            Some(false) | None => {
                let call = row.call_id.clone();
                self.problem(Mismatch::NotOnDevice { device, row: row.seq, call });
            }
        }
        Ok(())
    }

    /// Finishes the comparison.
    #[must_use]
    pub fn finish(mut self) -> Joined {
        for device in std::mem::take(&mut self.keys).into_keys() {
            self.problem(Mismatch::NotEnrolled { device });
        }
        let mut seen: Vec<_> = std::mem::take(&mut self.seen).into_iter().collect();
        seen.sort_by_key(|(row, _)| *row);
        for (row, saw) in seen {
            for (device, entry, _) in saw {
                self.problem(Mismatch::BackendForked { device, entry, row });
            }
        }
        let devices = std::mem::take(&mut self.devices);
        for (device, chain) in &devices {
            let reported = self.calls.values().filter(|call| call.device == *device);
            let reported = reported
                .flat_map(|call| &call.reported)
                .map(|reported| reported.entry)
                .max()
                .unwrap_or_default();
            let mut last: HashMap<&str, i64> = HashMap::new();
            for entry in &chain.entries {
                last.insert(&entry.what.call_id, entry.seq);
            }
            let mut ended = HashSet::new();
            for entry in &chain.entries {
                let call = entry.what.call_id.as_str();
                let is_last = last.get(call) == Some(&entry.seq);
                if ended.contains(call) {
                    let (device, call) = (device.clone(), call.to_owned());
                    self.problem(Mismatch::EndedTwice { device, entry: entry.seq, call });
                    continue;
                }
                if entry.what.state != CallState::Unknown {
                    ended.insert(call);
                }
                self.entry(device, entry, is_last, reported);
            }
        }
        self.joined
    }

    /// Compares one entry. `reported` is the device's last entry that the backend received.
    fn entry(&mut self, device: &str, noted: &DeviceEntry, is_last: bool, reported: i64) {
        let (entry, noted) = (noted.seq, &noted.what);
        let id = noted.call_id.clone();
        let device = device.to_owned();
        let Some(call) = self.calls.get(&id).filter(|call| call.device == device) else {
            return self.problem(Mismatch::NotAtBackend { device, entry, call: id });
        };
        let differs =
            |what| Mismatch::Differs { device: device.clone(), entry, call: id.clone(), what };
        let arguments = noted.arguments.filter(|own| Some(*own) != call.arguments);
        // One entry may have been reported twice: with its outcome, and later as unknown.
        let mut at_backend = call.reported.iter().filter(|reported| reported.entry == entry);
        let says_more = |reported: &&ReportedEnd| reported.state != CallState::Unknown;
        let is_other = |reported: &&ReportedEnd| {
            says_more(reported) && (reported.state, reported.result) != (noted.state, noted.result)
        };
        let at_backend = at_backend
            .clone()
            .find(is_other)
            .or_else(|| at_backend.clone().find(says_more))
            .or_else(|| at_backend.next());
        let is_forgotten =
            at_backend.map_or(call.is_forgotten, |reported| reported.state == CallState::Unknown);
        let is_known = noted.state != CallState::Unknown;
        if arguments.is_none() && is_forgotten && is_known && is_last {
            self.joined.forgotten += 1;
            return;
        }
        let found = match at_backend {
            _ if arguments.is_some() => Err(differs("arguments")),
            Some(reported) if reported.state != noted.state => Err(differs("state")),
            Some(reported) if reported.result != noted.result => Err(differs("result")),
            Some(_) => Ok(true),
            // The device replaced this entry before it reported, or the report is pending.
            None if !is_last || !call.is_closed || entry > reported => Ok(false),
            None => Err(differs("end")),
        };
        match found {
            Ok(true) => self.joined.calls += 1,
            Ok(false) => self.joined.pending += 1,
            Err(problem) => self.problem(problem),
        }
    }
}

#[cfg(test)]
mod tests;
