//! The chain on real files: what is noted, read again, torn, damaged, and taken over from.

use orion_audit::device::DeviceChain;
use orion_domain::{CallState, Digest};
use uuid::Uuid;

use super::writer::Disk;
use super::*;

const DEVICE: &str = "0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e";

fn call(n: u128) -> CallId {
    CallId::new(Uuid::from_u128(n))
}

fn happened(n: u128) -> Happened {
    Happened {
        at: 7,
        call_id: call(n).to_string(),
        tool: "write_file".to_owned(),
        arguments: Some(Digest::of(b"{}")),
        state: CallState::Succeeded,
        code: String::new(),
        result: Digest::of(b"done"),
    }
}

async fn noted(chain: &mut Chain, count: usize) -> Vec<CallId> {
    let mut all = chain.noted();
    while all.len() < count {
        let watch = chain.watch();
        let more = chain.noted();
        if more.is_empty() {
            watch.changed().await;
        }
        all.extend(more);
    }
    all
}

#[tokio::test]
async fn what_is_noted_is_on_disk_before_it_is_told_and_goes_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut chain = Chain::open(folder.path(), DEVICE).unwrap();
    assert!(read(folder.path()).unwrap().unwrap().entries.is_empty());
    for n in 1..=3 {
        assert!(chain.note(call(n), happened(n)));
    }
    assert_eq!(noted(&mut chain, 3).await, [call(1), call(2), call(3)]);
    let seen = AuditHead { seq: 9, hash: Digest::of(b"backend") };
    chain.heard(seen);
    chain.note(call(4), happened(4));
    chain.close().await;

    let kept = read(folder.path()).unwrap().unwrap();
    assert_eq!(kept.entries.len(), 4);
    assert_eq!(kept.entries[3].backend, seen);
    let mut chain = Chain::open(folder.path(), DEVICE).unwrap();
    assert_eq!((chain.head(), chain.backend()), (kept.head(), seen));
    assert_eq!([chain.entry_of(call(2)), chain.entry_of(call(9))], [2, 0]);
    chain.note(call(5), happened(5));
    assert_eq!(noted(&mut chain, 1).await, [call(5)]);
    assert_eq!(chain.head().seq, 5);
    chain.close().await;
    assert_eq!(read(folder.path()).unwrap().unwrap().entries.len(), 5);
}

#[tokio::test]
async fn a_torn_end_is_cut_off_and_a_damaged_file_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let mut chain = Chain::open(folder.path(), DEVICE).unwrap();
    for n in 1..=2 {
        chain.note(call(n), happened(n));
    }
    chain.close().await;
    let path = folder.path().join(FILE);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&whole[..], b"{\"seq\":3"].concat()).unwrap();
    let chain = Chain::open(folder.path(), DEVICE).unwrap();
    assert_eq!(chain.head().seq, 2);
    chain.close().await;
    assert_eq!(std::fs::read(&path).unwrap(), whole);

    let text = String::from_utf8(whole).unwrap().replacen("write_file", "write_fine", 1);
    std::fs::write(&path, &text).unwrap();
    assert!(matches!(read(folder.path()), Err(ReadError::Broken { .. })));
    let chain = Chain::open(folder.path(), DEVICE).unwrap();
    assert_eq!(chain.head(), AuditHead::EMPTY);
    chain.close().await;
    let aside = folder.path().join("audit.damaged.jsonl");
    assert_eq!(std::fs::read_to_string(aside).unwrap(), text);

    let chain = Chain::open(folder.path(), "another").unwrap();
    assert_eq!(chain.head(), AuditHead::EMPTY);
    chain.close().await;
    assert_eq!(read(folder.path()).unwrap().unwrap().header.device, "another");
}

#[test]
fn a_file_that_grows_is_followed_by_another_and_both_read_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let opened = file::open(folder.path(), DEVICE).unwrap();
    let mut chain = opened.chain;
    let mut disk = Disk {
        folder: folder.path().to_owned(),
        device: DEVICE.to_owned(),
        file: opened.file,
        bytes: opened.bytes,
        most: 4_000,
    };
    for n in 0..20 {
        let entry = DeviceEntry::link(DEVICE, chain.head(), AuditHead::EMPTY, happened(n));
        let line = ChainLine::Entry(entry.clone()).to_line();
        chain.push(entry).unwrap();
        disk.write(line.as_bytes(), chain.head()).unwrap();
        let kept: DeviceChain = read(folder.path()).unwrap().unwrap();
        assert_eq!(kept.head(), chain.head());
        assert!(kept.entries.len() >= 5.min(chain.entries.len()));
    }
    let kept = read(folder.path()).unwrap().unwrap();
    assert!(kept.header.from.seq > 0, "the oldest are gone");
    std::fs::copy(folder.path().join(FILE), folder.path().join(OLDER)).unwrap();
    assert!(matches!(read(folder.path()), Err(ReadError::Apart)));
}
