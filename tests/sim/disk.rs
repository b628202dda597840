//! The disk under a device's journal. What is written is safe from the end of the process; what is synced
//! too from a power cut, which leaves of the rest what it likes, cut anywhere.

use std::collections::BTreeSet;

use orion_agent::journal::entry::{Entry, read_all};
use orion_agent::journal::{Begin, Command, JournalError};
use orion_domain::{CallId, CallState};
use tokio::sync::{mpsc, oneshot};

use crate::chance::Chance;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    synced: Vec<u8>,
    written: Vec<u8>,
    waiting: Vec<oneshot::Sender<Result<(), JournalError>>>,
    commands: Option<mpsc::Receiver<Command>>,
    /// Whether it says that something is synced before it is.
    lies: bool,
}

impl Disk {
    pub(crate) fn new(lies: bool) -> Self {
        Self { lies, ..Self::default() }
    }

    /// What is on it.
    pub(crate) fn text(&self) -> &[u8] {
        &self.synced
    }

    /// An agent writes on it from here on.
    pub(crate) fn mount(&mut self, commands: mpsc::Receiver<Command>) {
        self.commands = Some(commands);
    }

    /// Takes what the agent wants written.
    pub(crate) fn take(&mut self) {
        let Some(commands) = &mut self.commands else { return };
        while let Ok(command) = commands.try_recv() {
            match command {
                // Who waits for the file alone is the device's audit, which is not played.
                Command::Append { line, written: _, synced } => {
                    self.written.extend(line);
                    self.waiting.extend(synced);
                }
                Command::Rewrite { text } => {
                    self.synced = text;
                    self.written.clear();
                }
            }
        }
        if self.lies {
            self.answer();
        }
    }

    /// Whether anybody waits for it.
    pub(crate) fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether a power cut would lose anything.
    pub(crate) fn is_dirty(&self) -> bool {
        !self.written.is_empty()
    }

    pub(crate) fn sync(&mut self) {
        self.synced.append(&mut self.written);
        self.answer();
    }

    fn answer(&mut self) {
        for waiting in self.waiting.drain(..) {
            drop(waiting.send(Ok(())));
        }
    }

    /// The agent is gone, what it had written is not.
    pub(crate) fn unmount(&mut self) {
        (self.commands, self.waiting) = (None, Vec::new());
        self.synced.append(&mut self.written);
        self.cut_torn_end();
    }

    /// The machine is gone, and of what was not synced all but the first lines and half of the next;
    /// gives how many lines stay.
    pub(crate) fn lose(&mut self, chance: &mut Chance) -> usize {
        let mut lines: Vec<_> = self.written.split_inclusive(|byte| *byte == b'\n').collect();
        let kept = chance.below(lines.len() + 1);
        lines.truncate(kept + 1);
        let torn = lines.get(kept).map_or(0, |line| line.len() / 2);
        let whole: usize = lines[..kept].iter().map(|line| line.len()).sum();
        self.written.truncate(whole + torn);
        self.unmount();
        kept
    }

    /// The calls that began by it and of which it does not say how they ended: they were running, or were
    /// given up on, or their last line was lost.
    pub(crate) fn interrupted(&self) -> BTreeSet<CallId> {
        let mut interrupted = BTreeSet::new();
        for entry in read_all(&self.synced).entries {
            match entry {
                Entry::Began(Begin { call, .. }) => {
                    interrupted.insert(call);
                }
                Entry::Ended { call, ended, .. } if ended.state != CallState::Unknown => {
                    interrupted.remove(&call);
                }
                Entry::Ended { .. }
                | Entry::Acked { .. }
                | Entry::Spent { .. }
                | Entry::Forgot { .. } => {}
            }
        }
        interrupted
    }

    /// As the journal does when it is opened.
    fn cut_torn_end(&mut self) {
        let whole = usize::try_from(read_all(&self.synced).bytes).unwrap();
        self.synced.truncate(whole);
    }
}
