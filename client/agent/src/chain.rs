//! The device's own audit log: a hash chain of the calls that it ran with effects, or rejected, in a file
//! of its own. Each result reports the chain's head to the backend, and each entry contains the last head
//! that the backend reported. So neither side can rewrite its past without the other's log showing it.
//!
//! The loop owns the chain; a separate thread writes and syncs it ([`writer`]). Only what is on disk is
//! reported. The end of a call is recorded once: the chain still has ends that the
//! [journal](crate::journal) lost.

mod file;
mod writer;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::Path;

use orion_audit::device::{ChainLine, DeviceEntry, Happened};
use orion_domain::audit::AuditHead;
use orion_domain::{CallId, CallState, Digest};
use tokio::sync::watch;

pub use file::{ReadError, earlier, read};
use writer::{Line, Writer};

use crate::journal::Written as InJournal;

/// The most calls whose last entry is remembered, besides calls whose result is unacknowledged.
const MAX_REMEMBERED: usize = 32_768;
/// The most entries that may wait for the disk.
const MAX_WAITING: usize = 1_024;

/// The audit chain of one device.
#[derive(Debug)]
pub struct Chain {
    device: String,
    head: AuditHead,
    backend: AuditHead,
    /// The last entry of each call.
    entries: HashMap<CallId, LastEntry>,
    waiting: VecDeque<(i64, CallId)>,
    written: watch::Receiver<Written>,
    writer: Writer,
}

/// A call's last entry.
#[derive(Debug, Clone, Copy)]
struct LastEntry {
    seq: i64,
    state: CallState,
    result: Digest,
}

impl LastEntry {
    const fn of(entry: &DeviceEntry) -> Self {
        let Happened { state, result, .. } = entry.what;
        Self { seq: entry.seq, state, result }
    }
}

/// What the writer has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    /// The head on disk.
    pub(crate) head: AuditHead,
    /// Whether writing failed. If so, nothing is written until the agent restarts.
    pub(crate) failed: bool,
}

impl Chain {
    /// Opens the chain of `device` in this folder, or creates one. An unreadable file is moved aside.
    ///
    /// # Errors
    /// The files cannot be read or written.
    pub fn open(folder: &Path, device: &str) -> io::Result<Self> {
        let file::Opened { file, bytes, kept } = file::open(folder, device)?;
        let head = kept.head();
        let backend = kept.entries.last().map_or(AuditHead::EMPTY, |entry| entry.backend);
        let known =
            |entry: &DeviceEntry| Some((entry.what.call_id.parse().ok()?, LastEntry::of(entry)));
        let entries = kept.entries.iter().filter_map(known).collect();
        let (writer, written) = Writer::start(folder, device, file, bytes, head)?;
        let waiting = VecDeque::new();
        Ok(Self { device: device.to_owned(), head, backend, entries, waiting, written, writer })
    }

    /// Records the end of a call. The entry is written after the journal line `after`, if there is one: an
    /// end in the chain and not in the journal would be reported as another end. Entries of calls for
    /// which `is_waited_for` holds are not forgotten. Returns whether the result must wait for the disk;
    /// if not, the entry is on disk already, or nothing can be recorded now.
    pub fn note(
        &mut self,
        call: CallId,
        what: Happened,
        after: Option<InJournal>,
        is_waited_for: impl Fn(CallId) -> bool,
    ) -> bool {
        if self.ended_as(call).is_some_and(|state| state != CallState::Unknown) {
            return self.is_waiting(call);
        }
        if self.written.borrow().failed || self.waiting.len() >= MAX_WAITING {
            return false;
        }
        let entry = DeviceEntry::link(&self.device, self.head, self.backend, what);
        self.head = entry.head();
        if self.entries.len() >= MAX_REMEMBERED {
            let old = entry.seq - i64::try_from(MAX_REMEMBERED / 2).unwrap_or(i64::MAX);
            self.entries.retain(|call, known| known.seq > old || is_waited_for(*call));
        }
        self.entries.insert(call, LastEntry::of(&entry));
        self.waiting.push_back((entry.seq, call));
        self.writer.write(Line { head: self.head, text: ChainLine::Entry(entry).to_line(), after });
        true
    }

    /// Returns the calls whose entries reached the disk since the last call, oldest first. If writing
    /// failed, returns all that waited.
    pub fn noted(&mut self) -> Vec<CallId> {
        let Written { head, failed } = *self.written.borrow_and_update();
        let done = self.waiting.iter().take_while(|(seq, _)| failed || *seq <= head.seq).count();
        self.waiting.drain(..done).map(|(_, call)| call).collect()
    }

    /// Returns whether this call's entry waits for the disk.
    #[must_use]
    pub fn is_waiting(&self, call: CallId) -> bool {
        self.waiting.iter().any(|(_, waiting)| *waiting == call)
    }

    /// Returns whether any entry waits for the disk.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns a watch on what is written.
    #[must_use]
    pub fn watch(&self) -> ChainWatch {
        ChainWatch(self.written.clone())
    }

    /// Returns the head on disk.
    #[must_use]
    pub fn head(&self) -> AuditHead {
        self.written.borrow().head
    }

    /// Returns the sequence number of this call's entry on disk. 0 if there is none or it is not known.
    #[must_use]
    pub fn entry_of(&self, call: CallId) -> i64 {
        let seq = self.entries.get(&call).map_or(0, |known| known.seq);
        if seq <= self.head().seq { seq } else { 0 }
    }

    /// Returns whether this end of the call is recorded already.
    #[must_use]
    pub fn is_known(&self, call: CallId, result: Digest) -> bool {
        self.entries.get(&call).is_some_and(|known| known.result == result)
    }

    /// Returns the state in the call's last entry. None if there is no entry or it is not known.
    #[must_use]
    pub fn ended_as(&self, call: CallId) -> Option<CallState> {
        self.entries.get(&call).map(|known| known.state)
    }

    /// Returns the head that the backend reported last.
    #[must_use]
    pub const fn backend(&self) -> AuditHead {
        self.backend
    }

    /// Stores the head of the backend's audit log. An older head is stored too: the backend compares.
    pub const fn received(&mut self, backend: AuditHead) {
        self.backend = backend;
    }

    /// Waits until all entries are on disk, and ends the thread.
    pub async fn close(self) {
        self.writer.close().await;
    }
}

/// A watch on the chain's file that does not borrow the chain.
#[derive(Debug)]
pub struct ChainWatch(watch::Receiver<Written>);

impl ChainWatch {
    /// Returns the head on disk.
    #[must_use]
    pub fn head(&self) -> AuditHead {
        self.0.borrow().head
    }

    /// Waits until new entries are on disk, or writing failed.
    pub async fn changed(mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests;
