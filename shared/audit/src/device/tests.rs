//! Chains of devices that are complete, changed, truncated, or continued from a later start.

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};

use super::*;

fn signer() -> DeviceSigner {
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    DeviceSigner::from_pkcs8(key.as_ref()).unwrap()
}

/// Returns a call that wrote a file.
pub(crate) fn written(call_id: &str) -> Happened {
    Happened {
        at: 1,
        call_id: call_id.to_owned(),
        tool: "write_file".to_owned(),
        arguments: None,
        state: CallState::Succeeded,
        code: String::new(),
        result: Digest::of(b"done"),
    }
}

fn chain(length: i64, device: &str) -> DeviceChain {
    let mut chain =
        DeviceChain { header: ChainHeader::new(device, AuditHead::EMPTY), entries: Vec::new() };
    for n in 0..length {
        let arguments = (n != 2).then(|| Digest::of(b"{}"));
        let what = Happened { at: n, arguments, ..written(&format!("c{n}")) };
        let entry = DeviceEntry::link(device, chain.head(), AuditHead::EMPTY, what);
        chain.push(entry).unwrap();
    }
    chain
}

#[test]
fn an_export_reads_back_and_the_file_is_one_without_its_last_line() {
    let (chain, signer) = (chain(5, "kiosk"), signer());
    let export = signer.export(&chain, 7).unwrap();
    let whole = SignedChain { chain: chain.clone(), at: 7, key: signer.fingerprint() };
    assert_eq!(SignedChain::read(export.as_bytes()), Ok(whole));
    let file = chain.to_lines();
    assert!(export.starts_with(&file));
    assert_eq!(DeviceChain::read(file.as_bytes()), Ok(chain.clone()));
    assert_eq!(SignedChain::read(file.as_bytes()), Err(ChainProblem::Cut { seq: 5 }));
    assert_eq!(DeviceChain::read(export.as_bytes()), Err(ChainProblem::Line { line: 7 }));
    // The format from before devices signed their exports.
    let head = serde_json::to_string(&chain.head()).unwrap();
    let unsigned = format!("{file}{{\"head\":{head}}}\n");
    assert_eq!(SignedChain::read(unsigned.as_bytes()), Err(ChainProblem::Unsigned { seq: 5 }));
}

#[test]
fn every_change_is_found() {
    let export = signer().export(&chain(4, "kiosk"), 7).unwrap();
    for at in 0..export.len() {
        for change in [b' ', b'0', b'1', b'f', b'"'] {
            let mut bytes = export.clone().into_bytes();
            if bytes[at] != change {
                bytes[at] = change;
                let read = SignedChain::read(&bytes);
                assert!(read.is_err(), "{change} at {at}");
            }
        }
        assert!(SignedChain::read(&export.as_bytes()[..at]).is_err(), "cut at {at}");
    }
    let other = export.replace("\"kiosk\"", "\"mario\"");
    let problem = ChainProblem::Changed { seq: 1 };
    assert_eq!(SignedChain::read(other.as_bytes()), Err(problem));
}

/// Without the device's key, anyone can build a valid chain of the entries, but not its signature.
#[test]
fn a_beginning_that_was_cut_off_does_not_fit_the_signature() {
    let (whole, signer) = (chain(5, "kiosk"), signer());
    let export = signer.export(&whole, 7).unwrap();
    let end = export.lines().last().unwrap();
    for kept in 0..5 {
        let from = whole.entries[4 - kept].head();
        let entries = whole.entries[5 - kept..].to_vec();
        let cut = DeviceChain { header: ChainHeader::new("kiosk", from), entries };
        let text = format!("{}{end}\n", cut.to_lines());
        let problem = ChainProblem::Signature { seq: 5 };
        assert_eq!(SignedChain::read(text.as_bytes()), Err(problem), "{kept} kept");
    }
    let later = export.replace("\"at\":7,", "\"at\":8,");
    let problem = ChainProblem::Signature { seq: 5 };
    assert_eq!(SignedChain::read(later.as_bytes()), Err(problem));
}

#[test]
fn a_chain_that_begins_where_none_does_is_none() {
    let from = |seq| AuditHead { seq, hash: Digest::ZERO };
    let begun = |seq| DeviceChain {
        header: ChainHeader::new("kiosk", from(seq)),
        entries: chain(1, "kiosk").entries,
    };
    let read = |seq| DeviceChain::read(begun(seq).to_lines().as_bytes());
    assert!(read(0).is_ok());
    assert_eq!(read(-1), Err(ChainProblem::Line { line: 1 }));
    assert_eq!(read(i64::MAX), Err(ChainProblem::Unlinked { seq: 1 }));
    let mut last = DeviceChain { entries: Vec::new(), ..begun(i64::MAX) };
    let entry = DeviceEntry::link("kiosk", last.head(), AuditHead::EMPTY, written("c"));
    assert_eq!(last.push(entry), Err(ChainProblem::Unlinked { seq: i64::MAX }));
}

#[test]
fn a_chain_that_goes_on_from_a_head_finds_its_entries() {
    let whole = chain(5, "kiosk");
    let rest = DeviceChain {
        header: ChainHeader::new("kiosk", whole.entries[1].head()),
        entries: whole.entries[2..].to_vec(),
    };
    assert_eq!(DeviceChain::read(rest.to_lines().as_bytes()), Ok(rest.clone()));
    assert_eq!(rest.entry(2), None);
    assert_eq!(rest.hash_at(2), Some(whole.entries[1].hash));
    assert_eq!(rest.entry(5), whole.entries.get(4));
    assert_eq!(rest.entry(6), None);
}
