//! Chains of devices that are whole, changed, cut and begun elsewhere.

use super::*;

fn chain(length: i64, device: &str) -> DeviceChain {
    let mut chain =
        DeviceChain { header: ChainHeader::new(device, AuditHead::EMPTY), entries: Vec::new() };
    for n in 0..length {
        let what = Happened {
            at: n,
            call_id: format!("c{n}"),
            tool: "write_file".to_owned(),
            arguments: (n != 2).then(|| Digest::of(b"{}")),
            state: CallState::Succeeded,
            code: String::new(),
            result: Digest::of(b"done"),
        };
        let entry = DeviceEntry::link(device, chain.head(), AuditHead::EMPTY, what);
        chain.push(entry).unwrap();
    }
    chain
}

#[test]
fn an_export_reads_back_and_the_file_is_one_without_its_last_line() {
    let chain = chain(5, "kiosk");
    let export = chain.to_export();
    assert_eq!(DeviceChain::read(export.as_bytes(), true), Ok(chain.clone()));
    let file: String = export.split_inclusive('\n').take(6).collect();
    assert_eq!(DeviceChain::read(file.as_bytes(), false), Ok(chain));
    assert_eq!(DeviceChain::read(file.as_bytes(), true), Err(ChainProblem::Cut { seq: 5 }));
}

#[test]
fn every_change_is_found() {
    let export = chain(4, "kiosk").to_export();
    for at in 0..export.len() {
        for change in [b' ', b'0', b'1', b'f', b'"'] {
            let mut bytes = export.clone().into_bytes();
            if bytes[at] != change {
                bytes[at] = change;
                let read = DeviceChain::read(&bytes, true);
                assert!(read.is_err(), "{change} at {at}");
            }
        }
        assert!(DeviceChain::read(&export.as_bytes()[..at], true).is_err(), "cut at {at}");
    }
    let other = export.replace("\"kiosk\"", "\"mario\"");
    let problem = ChainProblem::Changed { seq: 1 };
    assert_eq!(DeviceChain::read(other.as_bytes(), true), Err(problem));
}

#[test]
fn a_chain_that_begins_where_none_does_is_none() {
    let from = |seq| AuditHead { seq, hash: Digest::ZERO };
    let begun = |seq| DeviceChain {
        header: ChainHeader::new("kiosk", from(seq)),
        entries: chain(1, "kiosk").entries,
    };
    let read = |seq| DeviceChain::read(begun(seq).to_export().as_bytes(), true);
    assert!(read(0).is_ok());
    assert_eq!(read(-1), Err(ChainProblem::Line { line: 1 }));
    assert_eq!(read(i64::MAX), Err(ChainProblem::Unlinked { seq: 1 }));
    let mut last = DeviceChain { entries: Vec::new(), ..begun(i64::MAX) };
    let what = Happened {
        at: 1,
        call_id: "c".to_owned(),
        tool: "write_file".to_owned(),
        arguments: None,
        state: CallState::Succeeded,
        code: String::new(),
        result: Digest::ZERO,
    };
    let entry = DeviceEntry::link("kiosk", last.head(), AuditHead::EMPTY, what);
    assert_eq!(last.push(entry), Err(ChainProblem::Unlinked { seq: i64::MAX }));
}

#[test]
fn a_chain_that_goes_on_from_a_head_finds_its_entries() {
    let whole = chain(5, "kiosk");
    let rest = DeviceChain {
        header: ChainHeader::new("kiosk", whole.entries[1].head()),
        entries: whole.entries[2..].to_vec(),
    };
    assert_eq!(DeviceChain::read(rest.to_export().as_bytes(), true), Ok(rest.clone()));
    assert_eq!(rest.entry(2), None);
    assert_eq!(rest.hash_at(2), Some(whole.entries[1].hash));
    assert_eq!(rest.entry(5), whole.entries.get(4));
    assert_eq!(rest.entry(6), None);
}
