//! The chain on real files: written, read again, torn, damaged and rotated.

use std::fs;

use orion_audit::device::{ChainHeader, DeviceChain};
use orion_domain::{CallState, Digest};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::file::LARGEST;
use super::writer::Disk;
use super::*;
use crate::state::names::{AUDIT, AUDIT_NEW, AUDIT_OLDER};

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

/// Records that this call succeeded.
fn note(chain: &mut Chain, n: u128) -> bool {
    chain.note(call(n), happened(n), None, |_| false)
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
        assert!(note(&mut chain, n));
    }
    assert_eq!(noted(&mut chain, 3).await, [call(1), call(2), call(3)]);
    let seen = AuditHead { seq: 9, hash: Digest::of(b"backend") };
    chain.received(seen);
    note(&mut chain, 4);
    chain.close().await;

    let kept = read(folder.path()).unwrap().unwrap();
    assert_eq!(kept.entries.len(), 4);
    assert_eq!(kept.entries[3].backend, seen);
    let mut chain = Chain::open(folder.path(), DEVICE).unwrap();
    assert_eq!((chain.head(), chain.backend()), (kept.head(), seen));
    assert_eq!([chain.entry_of(call(2)), chain.entry_of(call(9))], [2, 0]);
    note(&mut chain, 5);
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
        note(&mut chain, n);
    }
    chain.close().await;
    let path = folder.path().join(AUDIT);
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
    // However often the device enrols again, what it had recorded before is kept.
    Chain::open(folder.path(), "a third").unwrap().close().await;
    for (name, device) in [("audit.before.jsonl", DEVICE), ("audit.before-2.jsonl", "another")] {
        let kept = std::fs::read(folder.path().join(name)).unwrap();
        assert_eq!(DeviceChain::read(&kept).unwrap().header.device, device, "{name}");
    }
}

/// A folder in which entries were written one by one, with a rotation at each 4,000 bytes.
struct Grown {
    folder: tempfile::TempDir,
    disk: Disk,
    chain: DeviceChain,
}

impl Grown {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file::Opened { file, bytes, kept } = file::open(folder.path(), DEVICE).unwrap();
        let mut disk = Disk::new(folder.path(), DEVICE, file, bytes);
        (disk.most, disk.next) = (4_000, 4_000);
        Self { folder, disk, chain: kept }
    }

    fn write(&mut self, n: u128) -> std::io::Result<()> {
        let entry = DeviceEntry::link(DEVICE, self.chain.head(), AuditHead::EMPTY, happened(n));
        let line = ChainLine::Entry(entry.clone()).to_line();
        self.disk.write(line.as_bytes(), entry.head())?;
        self.chain.push(entry).unwrap();
        Ok(())
    }

    /// Writes until the file was rotated.
    fn rotate(&mut self) {
        let from = || file_from(self.folder.path());
        let before = from();
        let mut n = u128::try_from(self.chain.entries.len()).unwrap();
        while file_from(self.folder.path()) == before {
            n += 1;
            self.write(n).unwrap();
        }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn kept(&self) -> DeviceChain {
        read(self.folder.path()).unwrap().unwrap()
    }
}

/// The first line of the current file.
fn file_from(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join(AUDIT)).unwrap();
    text.lines().next().unwrap().to_owned()
}

#[test]
fn a_file_that_grows_is_followed_by_another_and_both_read_as_one() {
    let mut grown = Grown::new();
    for n in 0..20 {
        grown.write(n).unwrap();
        let kept = grown.kept();
        assert_eq!(kept.head(), grown.chain.head());
        assert!(kept.entries.len() >= 5.min(grown.chain.entries.len()));
    }
    assert!(grown.kept().header.from.seq > 0, "the oldest are gone");
    // The older file belongs to another chain.
    let header = ChainHeader::new(DEVICE, AuditHead::EMPTY);
    let other = DeviceChain { header, entries: grown.chain.entries[..2].to_vec() };
    fs::write(grown.path(AUDIT_OLDER), other.to_lines()).unwrap();
    assert!(matches!(read(grown.folder.path()), Err(ReadError::Apart)));
}

/// The folder's content when the agent dies between any two steps of a rotation. One case is from an
/// earlier version, which linked the file to both names.
#[tokio::test]
async fn a_taking_over_that_stops_anywhere_is_gone_on_with() {
    type Stop = fn(&Grown, Vec<u8>);
    let stops: [(&str, Stop); 6] = [
        ("the new file is begun", |grown, _| {
            fs::write(grown.path(AUDIT_NEW), "{\"device_chain\":").unwrap();
        }),
        ("the new file is there", |grown, new| fs::write(grown.path(AUDIT_NEW), new).unwrap()),
        ("the file is the older one", |grown, new| {
            fs::write(grown.path(AUDIT_NEW), new).unwrap();
            fs::rename(grown.path(AUDIT), grown.path(AUDIT_OLDER)).unwrap();
        }),
        ("the new file is lost", |grown, _| {
            fs::rename(grown.path(AUDIT), grown.path(AUDIT_OLDER)).unwrap();
        }),
        ("all is done", |grown, new| {
            fs::rename(grown.path(AUDIT), grown.path(AUDIT_OLDER)).unwrap();
            fs::write(grown.path(AUDIT), new).unwrap();
        }),
        ("both are one", |grown, _| {
            fs::remove_file(grown.path(AUDIT_OLDER)).unwrap();
            fs::hard_link(grown.path(AUDIT), grown.path(AUDIT_OLDER)).unwrap();
        }),
    ];
    for (name, stop) in stops {
        let mut grown = Grown::new();
        grown.rotate();
        grown.rotate();
        grown.write(99).unwrap();
        let head = grown.chain.head();
        let new = ChainLine::Header(ChainHeader::new(DEVICE, head)).to_line().into_bytes();
        let is_in_newer = DeviceChain::read(&fs::read(grown.path(AUDIT)).unwrap()).unwrap();
        stop(&grown, new);

        assert_eq!(grown.kept().head(), head, "{name}: a reader beside the agent");
        let mut chain = Chain::open(grown.folder.path(), DEVICE).unwrap();
        assert_eq!(chain.head(), head, "{name}");
        for entry in &is_in_newer.entries {
            let call = entry.what.call_id.parse().unwrap();
            assert_eq!(chain.entry_of(call), entry.seq, "{name}");
        }
        assert!(note(&mut chain, 100), "{name}");
        chain.close().await;
        let kept = grown.kept();
        assert_eq!(kept.head().seq, head.seq + 1, "{name}");
        assert_eq!(kept.entry(head.seq).map(DeviceEntry::head), Some(head), "{name}");
    }
}

#[test]
fn a_file_that_no_other_can_follow_grows_on_and_never_beyond_what_is_read() {
    let mut grown = Grown::new();
    // No file can be created under this name.
    fs::create_dir_all(grown.path(AUDIT_NEW).join("x")).unwrap();
    grown.disk.largest = 12_000;
    let mut n = 0;
    let error = loop {
        n += 1;
        if let Err(error) = grown.write(n) {
            break error;
        }
    };
    assert_eq!(error.kind(), std::io::ErrorKind::FileTooLarge);
    assert!(n > 20, "{n}");
    assert_eq!(grown.kept(), grown.chain);
    // The rotation succeeds when the name is free again.
    fs::remove_dir_all(grown.path(AUDIT_NEW)).unwrap();
    grown.disk.largest = LARGEST;
    grown.rotate();
    assert_eq!(grown.kept().head(), grown.chain.head());
}

#[test]
fn a_file_that_is_too_long_is_an_error_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    drop(file::open(folder.path(), DEVICE).unwrap());
    let path = folder.path().join(AUDIT);
    let file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.set_len(LARGEST + 1).unwrap();
    assert!(matches!(read(folder.path()), Err(ReadError::Io { .. })));
    let error = Chain::open(folder.path(), DEVICE).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::FileTooLarge);
    assert_eq!(fs::metadata(&path).unwrap().len(), LARGEST + 1);
}

#[tokio::test]
async fn a_call_that_ended_is_noted_once_also_where_its_entry_is_in_the_older_file() {
    let mut grown = Grown::new();
    grown.write(1).unwrap();
    grown.rotate();
    let head = grown.chain.head();
    let mut chain = Chain::open(grown.folder.path(), DEVICE).unwrap();
    assert_eq!((chain.head(), chain.entry_of(call(1))), (head, 1));
    assert_eq!(chain.ended_as(call(1)), Some(CallState::Succeeded));
    assert!(!note(&mut chain, 1), "its result waits for nothing");
    // An entry that waits for the disk is not recorded twice.
    assert!(note(&mut chain, 500) && (note(&mut chain, 500) || chain.head().seq > head.seq));
    chain.close().await;
    assert_eq!(grown.kept().head().seq, head.seq + 1);
}

#[tokio::test]
async fn a_call_whose_end_was_not_known_gets_a_second_entry_and_no_third() {
    let folder = tempfile::tempdir().unwrap();
    let mut chain = Chain::open(folder.path(), DEVICE).unwrap();
    let unknown = Happened { state: CallState::Unknown, ..happened(1) };
    assert!(chain.note(call(1), unknown, None, |_| false));
    assert!(note(&mut chain, 1));
    note(&mut chain, 1);
    chain.close().await;
    assert_eq!(read(folder.path()).unwrap().unwrap().head().seq, 2);
}

#[tokio::test]
async fn an_entry_is_written_after_the_line_in_the_journal_that_it_follows() {
    let folder = tempfile::tempdir().unwrap();
    let mut chain = Chain::open(folder.path(), DEVICE).unwrap();
    let (written, after) = oneshot::channel();
    let path = folder.path().to_owned();
    assert!(chain.note(call(1), happened(1), Some(after), |_| false));
    let before = std::thread::spawn(move || {
        let before = read(&path).unwrap().unwrap().entries;
        drop(written.send(Ok(())));
        before
    });
    assert_eq!(noted(&mut chain, 1).await, [call(1)]);
    assert_eq!(before.join().unwrap(), []);
    // A journal that was dropped delays nothing.
    let (gone, after) = oneshot::channel();
    drop(gone);
    chain.note(call(2), happened(2), Some(after), |_| false);
    assert_eq!(noted(&mut chain, 1).await, [call(2)]);
    chain.close().await;
}

#[tokio::test]
async fn of_a_call_that_somebody_waits_for_it_is_not_forgotten_what_was_noted() {
    let folder = tempfile::tempdir().unwrap();
    let mut chain = Chain::open(folder.path(), DEVICE).unwrap();
    let most = u128::try_from(MAX_REMEMBERED).unwrap();
    let first = call(1);
    for n in 1..=most + 1 {
        assert!(chain.note(call(n), happened(n), None, |call| call == first));
        if n % 512 == 0 {
            noted(&mut chain, 512).await;
        }
    }
    noted(&mut chain, 1).await;
    assert_eq!([chain.entry_of(first), chain.entry_of(call(2))], [1, 0]);
    assert!(chain.entries.len() < MAX_REMEMBERED);
    chain.close().await;
}
