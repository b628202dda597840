//! The simulated disk of a device's journal. Written data survives the end of the process. Synced data
//! also survives a power failure, which keeps any part of the rest.

use std::collections::BTreeSet;

use orion_agent::journal::entry::{Entry, read_all};
use orion_agent::journal::{Begin, Command, JournalError};
use orion_domain::{CallId, CallState};
use tokio::sync::{mpsc, oneshot};

use crate::chance::Chance;

/// A simulated disk.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    synced: Vec<u8>,
    written: Vec<u8>,
    waiting: Vec<oneshot::Sender<Result<(), JournalError>>>,
    commands: Option<mpsc::Receiver<Command>>,
    /// Whether the disk reports a sync before it happens.
    lies: bool,
}

impl Disk {
    pub(crate) fn new(lies: bool) -> Self {
        Self { lies, ..Self::default() }
    }

    /// Returns the content.
    pub(crate) fn text(&self) -> &[u8] {
        &self.synced
    }

    /// Attaches a new agent's writer.
    pub(crate) fn mount(&mut self, commands: mpsc::Receiver<Command>) {
        self.commands = Some(commands);
    }

    /// Handles the agent's write commands.
    pub(crate) fn take(&mut self) {
        let Some(commands) = &mut self.commands else { return };
        while let Ok(command) = commands.try_recv() {
            match command {
                // Only the device's audit, which is not simulated, waits for the write alone.
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

    /// Returns whether a writer waits for the disk.
    pub(crate) fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns whether a power failure would lose anything.
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

    /// Detaches a dead agent; its written data stays.
    pub(crate) fn unmount(&mut self) {
        (self.commands, self.waiting) = (None, Vec::new());
        self.synced.append(&mut self.written);
        self.cut_torn_end();
    }

    /// Simulates a power failure: of the unsynced lines, the first ones and half of the next stay.
    /// Returns how many lines stay.
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

    /// Returns the calls that began and whose outcome the journal lacks: they were running, or were
    /// abandoned, or their last line was lost.
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

    /// Truncates a partial last line, as the journal does when it is opened.
    fn cut_torn_end(&mut self) {
        let whole = usize::try_from(read_all(&self.synced).bytes).unwrap();
        self.synced.truncate(whole);
    }
}
