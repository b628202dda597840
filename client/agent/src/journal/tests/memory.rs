//! How long a call is remembered, and how a forgotten call is answered.

use super::*;

#[tokio::test]
async fn a_call_is_remembered_for_a_day_after_its_acknowledgement() {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    let room = Room::new();
    let mut journal = room.open(1_000).await;
    journal.begin(effect(1)).await.unwrap().wait().await.unwrap();
    journal.end(call(1), done("one"), 1_000).await;
    journal.acknowledge(call(1), 1_000).await;
    journal.close().await;
    let journal = room.open(1_000 + DAY).await;
    assert_eq!(journal.seen(call(1)), CallStatus::Acknowledged);
    journal.close().await;
    // The clock may be wrong when the agent starts; it is right once a call has arrived.
    let mut journal = room.open(1_001 + DAY).await;
    assert_eq!(journal.seen(call(1)), CallStatus::Acknowledged);
    journal.begin(Begin { at: 1_001 + DAY, ..read(2) }).await.unwrap().wait().await.unwrap();
    assert_eq!(journal.seen(call(1)), CallStatus::New);
}

#[tokio::test]
async fn a_call_that_ran_on_a_yes_is_remembered_for_as_long_as_a_yes_can_be_good() {
    let room = Room::new();
    let mut journal = room.open(1_000).await;
    let begin = Begin { approval: Some(approval(5)), ..effect(1) };
    journal.begin(begin).await.unwrap().wait().await.unwrap();
    journal.end(call(1), done("one"), 1_000).await;
    journal.acknowledge(call(1), 1_000).await;
    journal.close().await;
    let at = 1_000 + APPROVED_REMEMBERED_MS;
    let mut journal = room.open(at).await;
    assert_eq!(
        (journal.seen(call(1)), journal.is_spent(approval(5))),
        (CallStatus::Acknowledged, true)
    );
    journal.begin(Begin { at: at + 1, ..read(2) }).await.unwrap().wait().await.unwrap();
    assert_eq!((journal.seen(call(1)), journal.is_spent(approval(5))), (CallStatus::New, false));
}

#[test]
fn a_clock_that_was_ahead_keeps_nothing_for_longer_than_a_day() {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    let mut index = Index::default();
    for (number, at) in [(1, 900 * DAY), (2, 901 * DAY), (3, 5)] {
        index.apply(Entry::Spent { call: call(number), approval: None, at });
    }
    let known = |index: &Index| [1, 2, 3].map(|number| index.seen(call(number)) != CallStatus::New);
    index.expire(10);
    assert_eq!(known(&index), [true, true, true]);
    index.expire(11 + DAY);
    assert_eq!(known(&index), [false, false, false]);
}

/// A call that was made at this moment, Unix milliseconds.
fn made_at(now: i64) -> CallId {
    call((u128::try_from(now).unwrap() << 80) | (7 << 76) | (2 << 62))
}

#[tokio::test]
async fn a_journal_that_was_lost_says_nothing_of_the_time_before_and_one_that_is_there_is_left() {
    let room = Room::new();
    Journal::admit_loss(&room.path, 5_000).unwrap();
    Journal::admit_loss(&room.path, 9_000).unwrap();
    let remembers =
        |journal: &Journal| [4_000, 5_000, 5_001].map(|at| journal.remembers(made_at(at)));
    let journal = room.open(9_000).await;
    assert_eq!(remembers(&journal), [false, false, true]);
    journal.close().await;
    assert_eq!(remembers(&room.open(9_000).await), [false, false, true]);
    // An empty journal is the journal of a device that has run nothing.
    let room = Room::new();
    room.open(1_000).await.close().await;
    Journal::admit_loss(&room.path, 5_000).unwrap();
    assert_eq!(remembers(&room.open(9_000).await), [true, true, true]);
}

#[tokio::test]
async fn what_a_damaged_line_was_about_stays_open_when_the_file_is_written_anew_without_it() {
    let room = Room::new();
    let (_, text) = whole_file();
    let mut damaged = text.clone();
    damaged[20] ^= 1;
    fs::write(&room.path, &damaged).unwrap();
    let remembers = |journal: &Journal| [5_000, 5_001].map(|at| journal.remembers(made_at(at)));
    let mut journal = room.open(5_000).await;
    assert_eq!(remembers(&journal), [false, true]);
    let compacted: Vec<u8> = journal.index.snapshot().iter().flat_map(Entry::to_line).collect();
    journal.writer.rewrite(compacted).await;
    journal.close().await;
    journal = room.open(9_000).await;
    assert_eq!(remembers(&journal), [false, true]);
}

#[test]
fn of_a_time_that_was_forgotten_nothing_is_said_and_that_stays_so_when_the_file_is_written_anew() {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    let mut index = Index::default();
    for number in [2, 4] {
        index.apply(Entry::Spent { call: call(number), approval: None, at: 1 });
    }
    assert!(index.remembers(call(1)));
    index.expire(2 + DAY);
    let remembers = |index: &Index| [1, 2, 3, 4, 5].map(|number| index.remembers(call(number)));
    assert_eq!(remembers(&index), [false, false, false, false, true]);
    let mut rebuilt = Index::default();
    index.snapshot().into_iter().for_each(|entry| rebuilt.apply(entry));
    assert_eq!((remembers(&rebuilt), index.lines()), (remembers(&index), 1));
}

#[tokio::test]
async fn a_journal_that_lost_a_line_says_of_no_call_that_it_never_came() {
    let room = Room::new();
    let mut journal = room.open(1_000).await;
    journal.begin(effect(1)).await.unwrap().wait().await.unwrap();
    journal.begin(effect(2)).await.unwrap().wait().await.unwrap();
    assert!(journal.remembers(call(3)));
    journal.close().await;
    let mut text = fs::read(&room.path).unwrap();
    text[20] ^= 1;
    fs::write(&room.path, text).unwrap();
    let journal = room.open(2_000).await;
    assert_eq!(journal.seen(call(1)), CallStatus::New);
    assert!(!journal.remembers(call(1)) && !journal.remembers(call(3)));
}
