//! Which histories the comparison accepts, and which it does not.

use orion_domain::audit::AuditRow;

use super::*;
use crate::device::ChainHeader;
use crate::device::tests::written;

const KEY: Digest = Digest::ZERO;

/// Returns the chain of a device that recorded one call as succeeded.
fn kiosk() -> DeviceChain {
    let header = ChainHeader::new("kiosk", AuditHead::EMPTY);
    let mut chain = DeviceChain { header, entries: Vec::new() };
    chain.push(DeviceEntry::link("kiosk", chain.head(), AuditHead::EMPTY, written("c"))).unwrap();
    chain
}

fn enrolled(key: Digest) -> (&'static str, String) {
    let body = format!(r#"{{"device_id":"kiosk","public_key_fingerprint":"{key}"}}"#);
    ("device.enrolled", body)
}

fn opened() -> (&'static str, String) {
    ("call.opened", r#"{"device_id":"kiosk","has_effects":true}"#.to_owned())
}

fn closed(state: &str, entry: i64, fits: bool) -> (&'static str, String) {
    let (result, hash) = (Digest::of(if fits { b"done" } else { b"lost" }), kiosk().head().hash);
    let witness = format!(r#"{{"entry":{entry},"seq":1,"hash":"{hash}"}}"#);
    let body = format!(r#"{{"state":"{state}","result_digest":"{result}","witness":{witness}}}"#);
    ("call.closed", body)
}

fn joined(rows: impl IntoIterator<Item = (&'static str, String)>) -> Joined {
    let mut head = AuditHead::EMPTY;
    let mut join = Join::new([SignedChain { chain: kiosk(), at: 2, key: KEY }]);
    for (kind, body) in rows {
        let row = AuditRow::link(head, 1, kind, "c", body);
        head = row.head();
        join.row(&row);
    }
    join.finish()
}

#[test]
fn what_a_device_told_and_does_not_know_any_more_contradicts_nothing() {
    let counts = |ends: &[(&str, i64, bool)]| {
        let ends = ends.iter().map(|(state, entry, fits)| closed(state, *entry, *fits));
        let joined = joined([enrolled(KEY), opened()].into_iter().chain(ends));
        let problems: Vec<_> = joined.problems.iter().map(ToString::to_string).collect();
        (joined.calls, joined.forgotten, problems.join("; "))
    };
    let fine = |calls, forgotten| (calls, forgotten, String::new());
    assert_eq!(counts(&[("succeeded", 1, true)]), fine(1, 0));
    // A restored database asks for results that were reported and dropped.
    assert_eq!(counts(&[("unknown", 1, false)]), fine(0, 1));
    assert_eq!(counts(&[("unknown", 0, false)]), fine(0, 1));
    let both = [("succeeded", 1, true), ("unknown", 1, false)];
    assert_eq!(counts(&both), fine(1, 0));
    // Any other outcome still differs, and so does another result.
    for end in [("failed", 1, true), ("succeeded", 1, false)] {
        let (calls, forgotten, problems) = counts(&[end, ("unknown", 1, false)]);
        assert_eq!((calls, forgotten), (0, 0), "{end:?}");
        assert!(problems.contains("say another"), "{problems}");
    }
}

#[test]
fn an_export_counts_by_the_key_that_the_device_enrolled_with() {
    let calls = || [opened(), closed("succeeded", 1, true)];
    let with = |row| joined([row].into_iter().chain(calls())).problems;
    assert_eq!(with(enrolled(KEY)), []);
    let device = || "kiosk".to_owned();
    let other = Mismatch::OtherKey { device: device(), row: 1 };
    assert_eq!(with(enrolled(Digest::of(b"another"))), [other]);
    let never = Mismatch::NotEnrolled { device: device() };
    assert_eq!(joined(calls()).problems, [never]);
    // A device's id is never reused: a later row makes no other key valid.
    let twice = [enrolled(Digest::of(b"another")), enrolled(KEY)];
    let other = Mismatch::OtherKey { device: device(), row: 1 };
    assert_eq!(joined(twice.into_iter().chain(calls())).problems, [other]);
}

#[test]
fn a_row_that_cannot_be_read_is_told() {
    let rows = || [enrolled(KEY), opened(), closed("succeeded", 1, true)];
    for (at, kind) in ["device.enrolled", "call.opened", "call.closed"].into_iter().enumerate() {
        let mut rows = rows();
        rows[at].1 = r#"{"form":2}"#.to_owned();
        // For an optional field, only a wrong type is unreadable.
        if kind == "call.opened" {
            rows[at].1 = r#"{"device_id":7}"#.to_owned();
        }
        let row = i64::try_from(at).unwrap() + 1;
        let unreadable = Mismatch::Unreadable { row, kind: kind.to_owned() };
        assert!(joined(rows).problems.contains(&unreadable), "{kind}");
    }
}
