//! The two sides beside each other: every call that a device noted has its row at the backend with the
//! same end, every call that the backend says a device ran is in that device's chain, and each side's
//! heads, as the other saw them, are those it has.

use std::collections::{BTreeMap, HashMap, HashSet};

use orion_domain::audit::{AuditHead, AuditRow};
use orion_domain::{CallState, Digest};
use serde::Deserialize;

use crate::device::{DeviceChain, DeviceEntry};

/// The most mismatches that are told.
const MOST: usize = 100;

/// How the two sides fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Joined {
    /// Calls whose end is the same on both sides.
    pub calls: u64,
    /// Calls that the device has noted and not told yet, or that the backend has not closed.
    pub pending: u64,
    /// Calls that ended before what the device still keeps.
    pub before: u64,
    /// Calls whose end the device noted, and told as `unknown` where it was asked again after it had let go
    /// of the result, as by a backend whose record was restored.
    pub forgotten: u64,
    /// Heads of one side that the other wrote down, and that are as they were.
    pub heads: u64,
    /// What does not fit; a hundred at most.
    pub problems: Vec<Mismatch>,
}

/// Where the two sides contradict one another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// The device noted a call that is not in the backend's audit as one of its own.
    #[error("device {device}, entry {entry}: call {call} is not in the backend's audit")]
    NotAtBackend {
        /// The device.
        device: String,
        /// The entry.
        entry: i64,
        /// The call.
        call: String,
    },
    /// The backend's row says something else of it.
    #[error("device {device}, entry {entry}: the backend's rows of call {call} say another {what}")]
    Differs {
        /// The device.
        device: String,
        /// The entry.
        entry: i64,
        /// The call.
        call: String,
        /// What differs.
        what: &'static str,
    },
    /// The device noted another end of a call whose end was known.
    #[error("device {device}, entry {entry}: call {call} had ended before")]
    EndedTwice {
        /// The device.
        device: String,
        /// The entry.
        entry: i64,
        /// The call.
        call: String,
    },
    /// The backend says that the device ran a call, and the device's chain has no entry of it.
    #[error("row {row}: device {device} ran call {call}, and its chain does not say so")]
    NotOnDevice {
        /// The device.
        device: String,
        /// The backend's row.
        row: i64,
        /// The call.
        call: String,
    },
    /// The device's chain is not the one that the backend saw.
    #[error(
        "row {row}: the backend saw entry {entry} of device {device}, and the device's chain has another there or none"
    )]
    DeviceForked {
        /// The device.
        device: String,
        /// The backend's row.
        row: i64,
        /// The entry.
        entry: i64,
    },
    /// The backend's chain is not the one that the device saw.
    #[error(
        "device {device}, entry {entry}: the device saw row {row} of the backend, and the backend's chain has another there or none"
    )]
    BackendForked {
        /// The device.
        device: String,
        /// The entry.
        entry: i64,
        /// The backend's row.
        row: i64,
    },
}

/// What is known of one call at the backend.
#[derive(Debug)]
struct Call {
    device: String,
    arguments: Option<Digest>,
    has_effects: bool,
    is_closed: bool,
    told: Vec<Told>,
    /// Whether the device said that it does not know how the call ended, and nothing of an entry.
    is_forgotten: bool,
}

/// An end that the device told.
#[derive(Debug)]
struct Told {
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
struct Ended {
    state: CallState,
    result_digest: Digest,
    witness: Option<Witness>,
}

/// What a row says of the device's chain.
#[derive(Deserialize)]
struct Witness {
    /// The entry that the device made of the call; 0 where it made none.
    entry: i64,
    /// The device's head when it told.
    seq: i64,
    hash: Digest,
}

/// Collects what it takes while the backend's rows go by.
#[derive(Debug)]
pub struct Join {
    devices: BTreeMap<String, DeviceChain>,
    /// Rows that devices saw: where, and by whom.
    seen: HashMap<i64, Vec<(String, i64, Digest)>>,
    calls: HashMap<String, Call>,
    last: i64,
    joined: Joined,
}

impl Join {
    /// Begins with the chains of some devices, which were followed already.
    #[must_use]
    pub fn new(chains: impl IntoIterator<Item = DeviceChain>) -> Self {
        let devices: BTreeMap<_, _> =
            chains.into_iter().map(|chain| (chain.header.device.clone(), chain)).collect();
        let mut seen: HashMap<_, Vec<_>> = HashMap::new();
        for (device, chain) in &devices {
            for entry in chain.entries.iter().filter(|entry| entry.backend != AuditHead::EMPTY) {
                let saw = (device.clone(), entry.seq, entry.backend.hash);
                seen.entry(entry.backend.seq).or_default().push(saw);
            }
        }
        Self { devices, seen, calls: HashMap::new(), last: 0, joined: Joined::default() }
    }

    fn problem(&mut self, problem: Mismatch) {
        if self.joined.problems.len() < MOST {
            self.joined.problems.push(problem);
        }
    }

    /// Takes the next row of the backend's chain, which was followed already.
    pub fn row(&mut self, row: &AuditRow) {
        self.last = row.seq;
        for (device, entry, hash) in self.seen.remove(&row.seq).unwrap_or_default() {
            if hash == row.hash {
                self.joined.heads += 1;
            } else {
                self.problem(Mismatch::BackendForked { device, entry, row: row.seq });
            }
        }
        match row.kind.as_str() {
            "call.opened" => self.opened(row),
            "call.closed" | "call.reconciled" | "call.told_late" => self.ended(row),
            _ => {}
        }
    }

    fn opened(&mut self, row: &AuditRow) {
        let Ok(opened) = serde_json::from_str::<Opened>(&row.body) else { return };
        let Some(device) = opened.device_id.filter(|device| self.devices.contains_key(device))
        else {
            return;
        };
        let call = Call {
            device,
            arguments: opened.arguments_digest,
            has_effects: opened.has_effects,
            is_closed: false,
            told: Vec::new(),
            is_forgotten: false,
        };
        self.calls.insert(row.call_id.clone(), call);
    }

    fn ended(&mut self, row: &AuditRow) {
        let Ok(ended) = serde_json::from_str::<Ended>(&row.body) else { return };
        let Some(call) = self.calls.get_mut(&row.call_id) else { return };
        call.is_closed = true;
        let (device, has_effects) = (call.device.clone(), call.has_effects);
        let Some(Witness { entry, seq, hash }) = ended.witness else {
            // What the backend ends by itself has not run, or nobody knows.
            if has_effects && ended.state == CallState::Succeeded {
                let call = row.call_id.clone();
                self.problem(Mismatch::NotOnDevice { device, row: row.seq, call });
            }
            return;
        };
        let is_unknown = ended.state == CallState::Unknown;
        call.is_forgotten |= is_unknown && entry == 0;
        if entry > 0 {
            call.told.push(Told { entry, state: ended.state, result: ended.result_digest });
        }
        let Some(chain) = self.devices.get(&device) else { return };
        let from = chain.header.from.seq;
        let fits = chain.hash_at(seq).map(|own| own == hash);
        let noted = chain.entry(entry).map(|noted| noted.call_id == row.call_id);
        match fits {
            Some(true) => self.joined.heads += 1,
            // Before what the device keeps.
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
            None if entry == 0 && (!has_effects || is_unknown) => {}
            Some(false) | None => {
                let call = row.call_id.clone();
                self.problem(Mismatch::NotOnDevice { device, row: row.seq, call });
            }
        }
    }

    /// Compares.
    #[must_use]
    pub fn finish(mut self) -> Joined {
        let mut seen: Vec<_> = std::mem::take(&mut self.seen).into_iter().collect();
        seen.sort_by_key(|(row, _)| *row);
        for (row, saw) in seen {
            for (device, entry, _) in saw {
                self.problem(Mismatch::BackendForked { device, entry, row });
            }
        }
        let devices = std::mem::take(&mut self.devices);
        for (device, chain) in &devices {
            let told = self.calls.values().filter(|call| call.device == *device);
            let told =
                told.flat_map(|call| &call.told).map(|told| told.entry).max().unwrap_or_default();
            let mut last: HashMap<&str, i64> = HashMap::new();
            for entry in &chain.entries {
                last.insert(&entry.call_id, entry.seq);
            }
            let mut ended = HashSet::new();
            for entry in &chain.entries {
                let is_last = last.get(entry.call_id.as_str()) == Some(&entry.seq);
                if ended.contains(entry.call_id.as_str()) {
                    let (device, call) = (device.clone(), entry.call_id.clone());
                    self.problem(Mismatch::EndedTwice { device, entry: entry.seq, call });
                    continue;
                }
                if entry.state != CallState::Unknown {
                    ended.insert(entry.call_id.as_str());
                }
                self.entry(device, entry, is_last, told);
            }
        }
        self.joined
    }

    /// Compares one entry. `told` is the last one of the device that the backend was told of.
    fn entry(&mut self, device: &str, noted: &DeviceEntry, is_last: bool, told: i64) {
        let (entry, id) = (noted.seq, noted.call_id.clone());
        let device = device.to_owned();
        let Some(call) = self.calls.get(&id).filter(|call| call.device == device) else {
            return self.problem(Mismatch::NotAtBackend { device, entry, call: id });
        };
        let differs =
            |what| Mismatch::Differs { device: device.clone(), entry, call: id.clone(), what };
        let arguments = noted.arguments.filter(|own| Some(*own) != call.arguments);
        // One entry may have been told of twice: as it is, and as what is not known any more.
        let mut at_backend = call.told.iter().filter(|told| told.entry == entry);
        let says_more = |told: &&Told| told.state != CallState::Unknown;
        let at_backend = at_backend.clone().find(says_more).or_else(|| at_backend.next());
        let is_forgotten =
            at_backend.map_or(call.is_forgotten, |told| told.state == CallState::Unknown);
        let is_known = noted.state != CallState::Unknown;
        if arguments.is_none() && is_forgotten && is_known && is_last {
            self.joined.forgotten += 1;
            return;
        }
        let found = match at_backend {
            _ if arguments.is_some() => Err(differs("arguments")),
            Some(told) if told.state != noted.state => Err(differs("state")),
            Some(told) if told.result != noted.result => Err(differs("result")),
            Some(_) => Ok(true),
            // What it said first and took back before it was told; or on its way.
            None if !is_last || !call.is_closed || entry > told => Ok(false),
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
mod tests {
    use orion_domain::audit::AuditRow;

    use super::*;
    use crate::device::{ChainHeader, Happened};

    /// What the join says of a call that a device noted as succeeded, told so or as these ends.
    fn joined(ends: &[(&str, i64, bool)]) -> Joined {
        let mut chain = DeviceChain {
            header: ChainHeader::new("kiosk", AuditHead::EMPTY),
            entries: Vec::new(),
        };
        let (done, lost) = (Digest::of(b"done"), Digest::of(b"lost"));
        let what = Happened {
            at: 1,
            call_id: "c".to_owned(),
            tool: "write_file".to_owned(),
            arguments: None,
            state: CallState::Succeeded,
            code: String::new(),
            result: done,
        };
        chain.push(DeviceEntry::link("kiosk", chain.head(), AuditHead::EMPTY, what)).unwrap();
        let hash = chain.head().hash;
        let opened = r#"{"device_id":"kiosk","has_effects":true}"#.to_owned();
        let mut head = AuditHead::EMPTY;
        let mut join = Join::new([chain]);
        let rows = std::iter::once(("call.opened", opened)).chain(ends.iter().map(
            |(state, entry, fits)| {
                let result = if *fits { done } else { lost };
                let witness = format!(r#"{{"entry":{entry},"seq":1,"hash":"{hash}"}}"#);
                let body = format!(
                    r#"{{"state":"{state}","result_digest":"{result}","witness":{witness}}}"#
                );
                ("call.closed", body)
            },
        ));
        for (kind, body) in rows {
            let row = AuditRow::link(head, 1, kind, "c", body);
            head = row.head();
            join.row(&row);
        }
        join.finish()
    }

    #[test]
    fn what_a_device_told_and_does_not_know_any_more_contradicts_nothing() {
        let counts = |joined: Joined| {
            let problems: Vec<_> = joined.problems.iter().map(ToString::to_string).collect();
            (joined.calls, joined.forgotten, problems.join("; "))
        };
        let fine = |calls, forgotten| (calls, forgotten, String::new());
        assert_eq!(counts(joined(&[("succeeded", 1, true)])), fine(1, 0));
        // A record that was restored asks for what was told and let go of.
        assert_eq!(counts(joined(&[("unknown", 1, false)])), fine(0, 1));
        assert_eq!(counts(joined(&[("unknown", 0, false)])), fine(0, 1));
        let both = [("succeeded", 1, true), ("unknown", 1, false)];
        assert_eq!(counts(joined(&both)), fine(1, 0));
        // Any other end still differs, and so does another result.
        for end in [("failed", 1, true), ("succeeded", 1, false)] {
            let (calls, forgotten, problems) = counts(joined(&[end, ("unknown", 1, false)]));
            assert_eq!((calls, forgotten), (0, 0), "{end:?}");
            assert!(problems.contains("say another"), "{problems}");
        }
    }
}
