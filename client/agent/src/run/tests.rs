//! What is required of the kernel, and how the device's own audit log continues after each kind of crash.

use std::path::PathBuf;

use orion_audit::device::{DeviceEntry, Happened};
use orion_domain::Envelope;
use uuid::Uuid;

use super::*;
use crate::chain::read;
use crate::config::SandboxChoice;
use crate::journal::{Begin, Ended};

#[test]
fn an_agent_that_needs_landlock_does_not_start_without_it() {
    assert!(suffices(Sandbox::handles(), SandboxChoice::Auto).is_ok());
    let error = suffices(Sandbox::handles(), SandboxChoice::Required).unwrap_err();
    assert!(error.to_string().contains("sandbox = \"auto\""), "{error}");
}

/// A device whose agent stopped under, or after, one call.
struct Stopped {
    folder: tempfile::TempDir,
    identity: Identity,
    call: CallId,
}

impl Stopped {
    fn new() -> Self {
        let identity = Identity::for_tests();
        let folder = tempfile::tempdir().unwrap();
        Self { folder, identity, call: CallId::new(Uuid::from_u128(1)) }
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("journal.log")
    }

    async fn open(&self) -> Journal {
        let path = self.journal();
        let opened = Journal::open(&path, 2_000, |call| report::interrupted(call, "kiosk", None));
        opened.await.unwrap()
    }

    /// Writes to the journal that the call began, and these ends.
    async fn began(&self, ends: &[&Ended]) {
        let mut journal = self.open().await;
        let begin = Begin {
            call: self.call,
            tool: "write_file".to_owned(),
            approval: None,
            has_effects: true,
            idempotent: false,
            at: 1_000,
        };
        journal.begin(begin).await.unwrap().wait().await.unwrap();
        for ended in ends {
            journal.end(self.call, (*ended).clone(), 1_001).await;
        }
        journal.close().await;
    }

    /// Writes these ends to the device's own audit log.
    async fn noted(&self, ends: &[&Ended]) {
        let device = self.identity.device_id.to_string();
        let mut chain = Chain::open(self.folder.path(), &device).unwrap();
        for ended in ends {
            let what = happened(self.call, "write_file", Some(Digest::of(b"{}")), ended);
            assert!(chain.note(self.call, what, None, |_| false));
        }
        chain.close().await;
    }

    /// Starts twice. Returns what the second start reports, and all entries of the audit log.
    async fn taken_up(&self) -> (Ended, i64, Vec<CallState>) {
        let (mut reported, mut entry, settled) = (None, 0, HashMap::new());
        for _ in 0..2 {
            let mut journal = self.open().await;
            let chain = take_up(self.folder.path(), &self.identity, &mut journal, &settled);
            let chain = chain.await.unwrap();
            reported = journal.result(self.call).cloned();
            entry = chain.entry_of(self.call);
            chain.close().await;
            journal.close().await;
        }
        let kept = read(self.folder.path()).unwrap().unwrap();
        let states = |entry: &DeviceEntry| {
            let Happened { state, .. } = entry.what;
            state
        };
        (reported.unwrap(), entry, kept.entries.iter().map(states).collect())
    }
}

fn done() -> Ended {
    let result = "{}".to_owned();
    Ended {
        state: CallState::Succeeded,
        code: String::new(),
        result: result.into(),
        duration_us: 3,
    }
}

fn given_up() -> Ended {
    let (state, code) = (CallState::Unknown, "OUTCOME_UNKNOWN".to_owned());
    Ended { state, code, result: "given up".into(), duration_us: 3 }
}

#[tokio::test]
async fn what_ended_and_was_not_noted_is_noted_once() {
    let stopped = Stopped::new();
    stopped.began(&[&done()]).await;
    let (reported, _, states) = stopped.taken_up().await;
    assert_eq!((reported, states), (done(), vec![CallState::Succeeded]));

    let stopped = Stopped::new();
    stopped.began(&[]).await;
    let (reported, entry, states) = stopped.taken_up().await;
    assert_eq!((reported.state, entry, states), (CallState::Unknown, 1, vec![CallState::Unknown]));
}

#[tokio::test]
async fn what_ended_and_was_noted_is_not_noted_again() {
    let stopped = Stopped::new();
    stopped.began(&[&done()]).await;
    stopped.noted(&[&done()]).await;
    let (reported, entry, states) = stopped.taken_up().await;
    assert_eq!((reported, entry, states), (done(), 1, vec![CallState::Succeeded]));
}

/// A power cut loses the end from the journal, where it is not synced, and not from the chain.
#[tokio::test]
async fn what_was_noted_and_is_not_in_the_journal_is_told_as_unknown_and_not_noted_again() {
    let stopped = Stopped::new();
    stopped.began(&[]).await;
    stopped.noted(&[&done()]).await;
    let (reported, entry, states) = stopped.taken_up().await;
    assert_eq!(
        (reported.state, entry, states),
        (CallState::Unknown, 1, vec![CallState::Succeeded])
    );
    let message = serde_json::from_str::<Envelope>(&reported.result).unwrap().message;
    assert!(message.contains("came to its end, succeeded"), "{message}");

    let stopped = Stopped::new();
    stopped.began(&[&given_up()]).await;
    stopped.noted(&[&given_up(), &done()]).await;
    let (reported, entry, states) = stopped.taken_up().await;
    assert_eq!((reported.state, entry), (CallState::Unknown, 2));
    assert_ne!(reported, given_up(), "the backend is told more than before");
    assert_eq!(states, [CallState::Unknown, CallState::Succeeded]);
}
