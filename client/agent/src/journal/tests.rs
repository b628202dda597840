//! The journal on a real disk, cut at every byte, filled, replayed and closed.

mod memory;

use std::fs::{self, File, OpenOptions};

use orion_domain::{CallState, ErrorCode};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::entry::{Loaded, read_all};
use super::index::{CallStatus, Full, Index};
use super::writer::{Command, Store, write_all};
use super::*;

fn call(number: u128) -> CallId {
    CallId::new(Uuid::from_u128(number))
}

fn approval(number: u128) -> ApprovalId {
    ApprovalId::new(Uuid::from_u128(number))
}

fn effect(number: u128) -> Begin {
    Begin {
        call: call(number),
        tool: "create_directory".to_owned(),
        approval: None,
        has_effects: true,
        idempotent: true,
        at: 1_000,
    }
}

fn read(number: u128) -> Begin {
    Begin { tool: "read_file".to_owned(), has_effects: false, ..effect(number) }
}

fn done(result: &str) -> Ended {
    Ended {
        state: CallState::Succeeded,
        code: String::new(),
        result: result.into(),
        duration_us: 3,
    }
}

fn unknown(interrupted: &Interrupted<'_>) -> Ended {
    Ended {
        state: CallState::Unknown,
        code: ErrorCode::OutcomeUnknown.as_str().to_owned(),
        result: format!("{} may have happened", interrupted.tool).into(),
        duration_us: 0,
    }
}

struct Room {
    _folder: tempfile::TempDir,
    path: std::path::PathBuf,
}

impl Room {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { path: folder.path().join("journal.log"), _folder: folder }
    }

    async fn open(&self, now: i64) -> Journal {
        Journal::open(&self.path, now, unknown).await.unwrap()
    }
}

#[tokio::test]
async fn a_call_with_effects_is_on_disk_before_it_may_start_and_a_read_never_is() {
    let room = Room::new();
    let mut journal = room.open(1_000).await;
    journal.begin(read(1)).await.unwrap().wait().await.unwrap();
    assert_eq!(fs::read(&room.path).unwrap(), b"");
    journal.begin(effect(2)).await.unwrap().wait().await.unwrap();
    assert_eq!(read_all(&fs::read(&room.path).unwrap()).entries, [Entry::Began(effect(2))]);
}

#[tokio::test]
async fn a_read_on_an_approval_is_on_disk_for_the_approval_is_used_once() {
    let room = Room::new();
    let mut journal = room.open(1_000).await;
    let begin = Begin { approval: Some(approval(9)), ..read(1) };
    journal.begin(begin).await.unwrap().wait().await.unwrap();
    journal.close().await;
    let journal = room.open(2_000).await;
    assert!(journal.is_spent(approval(9)));
    assert!(!journal.is_spent(approval(8)));
}

#[tokio::test]
async fn a_call_that_was_running_when_the_agent_died_is_unknown_and_stays_so() {
    let room = Room::new();
    let mut journal = room.open(1_000).await;
    journal.begin(effect(1)).await.unwrap().wait().await.unwrap();
    journal.begin(effect(2)).await.unwrap().wait().await.unwrap();
    journal.end(call(2), done("two"), 1_001).await;
    journal.close().await;
    for _ in 0..2 {
        let journal = room.open(2_000).await;
        assert_eq!(journal.unfinished(), [call(1)]);
        assert_eq!(journal.unacknowledged(), [call(1), call(2)]);
        assert_eq!(&*journal.result(call(1)).unwrap().result, "create_directory may have happened");
        assert_eq!(journal.result(call(2)), Some(&done("two")));
        journal.close().await;
    }
}

#[tokio::test]
async fn a_result_is_kept_until_it_is_acknowledged_and_the_call_is_known_after() {
    let room = Room::new();
    let mut journal = room.open(1_000).await;
    journal.begin(effect(1)).await.unwrap().wait().await.unwrap();
    assert_eq!(journal.seen(call(1)), CallStatus::Running);
    journal.end(call(1), done("one"), 1_001).await;
    assert_eq!(journal.seen(call(1)), CallStatus::Ended);
    journal.acknowledge(call(1), 1_002).await;
    assert_eq!(journal.seen(call(1)), CallStatus::Acknowledged);
    assert_eq!(journal.result(call(1)), None);
    // An acknowledgement of an unknown call, or a repeated one, changes nothing.
    journal.acknowledge(call(1), 1_003).await;
    journal.acknowledge(call(7), 1_003).await;
    journal.close().await;
    let journal = room.open(2_000).await;
    assert_eq!(journal.seen(call(1)), CallStatus::Acknowledged);
    assert_eq!(journal.seen(call(7)), CallStatus::New);
    assert_eq!(journal.unacknowledged(), []);
}

#[tokio::test]
async fn a_late_result_is_told_also_where_the_unknown_one_was_taken_already() {
    let room = Room::new();
    let mut journal = room.open(1_000).await;
    journal.begin(effect(1)).await.unwrap().wait().await.unwrap();
    let given_up = Ended { state: CallState::Unknown, ..done("?") };
    journal.end(call(1), given_up.clone(), 1_001).await;
    journal.acknowledge(call(1), 1_002).await;
    assert_eq!(
        (journal.seen(call(1)), journal.unacknowledged()),
        (CallStatus::Acknowledged, vec![])
    );
    journal.end(call(1), given_up, 1_003).await;
    assert_eq!(journal.unacknowledged(), []);
    journal.end(call(1), done("one"), 1_004).await;
    assert_eq!(journal.unacknowledged(), [call(1)]);
    journal.close().await;
    let mut journal = room.open(2_000).await;
    assert_eq!(journal.result(call(1)), Some(&done("one")));
    journal.acknowledge(call(1), 2_001).await;
    journal.end(call(1), done("two"), 2_002).await;
    assert_eq!(
        (journal.seen(call(1)), journal.unacknowledged()),
        (CallStatus::Acknowledged, vec![])
    );
}

#[tokio::test]
async fn a_late_result_replaces_an_unknown_one_and_nothing_else() {
    let room = Room::new();
    let mut journal = room.open(1_000).await;
    journal.begin(effect(1)).await.unwrap().wait().await.unwrap();
    let given_up = Ended { state: CallState::Unknown, ..done("?") };
    journal.end(call(1), given_up, 1_001).await;
    journal.end(call(1), done("one"), 1_002).await;
    assert_eq!(journal.result(call(1)), Some(&done("one")));
    journal.end(call(1), done("two"), 1_003).await;
    assert_eq!(journal.result(call(1)), Some(&done("one")));
}

fn whole_file() -> (Vec<Entry>, Vec<u8>) {
    let entries = vec![
        Entry::Began(effect(1)),
        Entry::Ended { call: call(1), ended: done("{\"é\":\"\\n\"}"), at: 2 },
        Entry::Acked { call: call(1), at: 3 },
        Entry::Spent { call: call(2), approval: Some(approval(4)), at: 4 },
        Entry::Began(Begin { approval: Some(approval(6)), ..effect(3) }),
    ];
    let text = entries.iter().flat_map(Entry::to_line).collect();
    (entries, text)
}

#[test]
fn a_file_torn_at_any_byte_gives_every_whole_line_before_it() {
    let (entries, text) = whole_file();
    let ends: Vec<usize> =
        text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    for cut in 0..=text.len() {
        let whole = ends.iter().filter(|end| **end <= cut).count();
        let bytes = whole.checked_sub(1).map_or(0, |last| ends[last]) as u64;
        let expected =
            Loaded { entries: entries[..whole].to_vec(), bytes, lines: whole, skipped: 0 };
        assert_eq!(read_all(&text[..cut]), expected, "cut at {cut}");
        // Some file systems leave zeros where data had not been written.
        let zeros = [&text[..cut], &[0; 40]].concat();
        assert_eq!(read_all(&zeros).entries, entries[..whole], "zeros from {cut}");
    }
}

#[test]
fn a_damaged_line_in_the_middle_is_skipped_and_the_rest_is_still_true() {
    let (entries, text) = whole_file();
    let second = entries[0].to_line().len();
    for at in second..second + entries[1].to_line().len() {
        let mut damaged = text.clone();
        damaged[at] ^= 1;
        let loaded = read_all(&damaged);
        // Without the line end, two lines become one, and both are lost.
        let lost = entries.len() - loaded.entries.len();
        assert!((1..=2).contains(&lost), "byte {at}");
        assert!(loaded.skipped >= 1, "byte {at}");
        assert!(loaded.entries.iter().all(|entry| entries.contains(entry)));
    }
}

#[tokio::test]
async fn writing_goes_on_after_a_torn_end() {
    let room = Room::new();
    let (entries, text) = whole_file();
    let last = entries[4].to_line().len();
    for cut in [1, last / 2, last - 1] {
        fs::write(&room.path, &text[..text.len() - cut]).unwrap();
        let mut journal = room.open(5).await;
        journal.begin(effect(8)).await.unwrap().wait().await.unwrap();
        journal.close().await;
        let loaded = read_all(&fs::read(&room.path).unwrap());
        assert_eq!(loaded.skipped, 0);
        assert_eq!(loaded.entries, [&entries[..4], &[Entry::Began(effect(8))]].concat());
    }
}

#[tokio::test]
async fn a_journal_that_is_mostly_dead_is_written_anew_and_says_the_same() {
    let room = Room::new();
    let mut journal = room.open(1_000).await;
    let open = effect(1_000_000);
    journal.begin(open.clone()).await.unwrap().wait().await.unwrap();
    for number in 0..600 {
        let begin = Begin { approval: Some(approval(number)), ..effect(number) };
        drop(journal.begin(begin).await.unwrap());
        journal.end(call(number), done(&"x".repeat(1_000)), 1_001).await;
        journal.acknowledge(call(number), 1_002).await;
    }
    journal.close().await;
    // Some 800,000 bytes were written.
    assert!(fs::metadata(&room.path).unwrap().len() < 400_000);
    assert!(!room.path.with_extension("new").exists());

    let journal = room.open(2_000).await;
    assert_eq!(journal.unfinished(), [open.call]);
    for number in 0..600 {
        assert_eq!(journal.seen(call(number)), CallStatus::Acknowledged, "{number}");
        assert!(journal.is_spent(approval(number)), "{number}");
    }
}

#[test]
fn a_snapshot_applied_again_changes_nothing() {
    let (entries, _) = whole_file();
    let mut index = Index::default();
    for entry in entries {
        index.apply(entry);
    }
    let snapshot = index.snapshot();
    let mut twice = Index::default();
    for entry in snapshot.iter().chain(&snapshot) {
        twice.apply(entry.clone());
    }
    assert_eq!(twice.snapshot(), snapshot);
    assert_eq!(twice.lines(), index.lines());
}

#[tokio::test]
async fn too_much_that_waits_for_the_backend_is_refused_and_room_comes_back() {
    let room = Room::new();
    let mut journal = room.open(1_000).await;
    for number in 0..1_024 {
        drop(journal.begin(read(number)).await.unwrap());
        journal.end(call(number), done(""), 1_000).await;
    }
    assert_eq!(journal.begin(read(2_000)).await.unwrap_err(), Full::Waiting);
    assert_eq!(journal.refuse(read(2_000), done("")), Err(Full::Waiting));
    assert_eq!(journal.seen(call(2_000)), CallStatus::New);
    journal.acknowledge(call(0), 1_000).await;
    drop(journal.begin(read(2_000)).await.unwrap());
}

#[tokio::test]
async fn a_refused_call_is_answered_the_same_again_and_does_not_use_its_approval() {
    let room = Room::new();
    let mut journal = room.open(1_000).await;
    let begin = Begin { approval: Some(approval(1)), ..effect(1) };
    let refused = Ended { state: CallState::Refused, ..done("no") };
    journal.refuse(begin, refused.clone()).unwrap();
    assert_eq!(journal.seen(call(1)), CallStatus::Ended);
    assert_eq!(journal.result(call(1)), Some(&refused));
    assert!(!journal.is_spent(approval(1)));
    assert_eq!(fs::read(&room.path).unwrap(), b"");
}

fn append(line: &[u8]) -> (Command, oneshot::Receiver<Result<(), JournalError>>) {
    let (synced, answer) = oneshot::channel();
    (Command::Append { line: line.to_vec(), written: None, synced: Some(synced) }, answer)
}

#[test]
fn all_who_wait_are_served_by_one_sync() {
    let room = Room::new();
    let file = File::create(&room.path).unwrap();
    let store = Store { file, path: room.path.clone(), len: 0, broken: None };
    let (sender, queue) = mpsc::channel(64);
    let answers: Vec<_> = (0..50)
        .map(|_| {
            let (command, answer) = append(b"line\n");
            sender.try_send(command).unwrap();
            answer
        })
        .collect();
    drop(sender);
    assert_eq!(write_all(store, queue), 1);
    for mut answer in answers {
        assert_eq!(answer.try_recv(), Ok(Ok(())));
    }
    assert_eq!(fs::read(&room.path).unwrap(), b"line\n".repeat(50));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_and_a_failing_sync_refuse_the_call() {
    let result = |file: File| {
        let store = Store { file, path: "/nowhere/journal".into(), len: 0, broken: None };
        let (sender, queue) = mpsc::channel(4);
        let (first, mut answer) = append(b"line\n");
        sender.try_send(first).unwrap();
        drop(sender);
        write_all(store, queue);
        answer.try_recv().unwrap().unwrap_err()
    };
    // A device that is always full can't be cut back either, so writing stays refused.
    let full = result(OpenOptions::new().write(true).open("/dev/full").unwrap());
    assert!(matches!(full, JournalError::DiskFull | JournalError::Broken(_)), "{full:?}");
    // A file without a disk beneath it can't be synced.
    let (_reader, pipe) = std::io::pipe().unwrap();
    let unsynced = result(File::from(std::os::fd::OwnedFd::from(pipe)));
    assert!(matches!(unsynced, JournalError::Broken(_)), "{unsynced:?}");
    assert_eq!(unsynced.refusal().code, ErrorCode::Internal);
    assert_eq!(JournalError::DiskFull.refusal().code, ErrorCode::ResourceExhausted);
}

#[tokio::test]
async fn a_journal_that_is_no_file_is_an_error_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let error = Journal::open(folder.path(), 1, unknown).await.unwrap_err();
    assert!(error.to_string().contains("can't be used"), "{error}");
}
