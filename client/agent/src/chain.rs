//! The device's own audit: a chain of the calls that it ran with effects, or refused, kept in a file of
//! its own. Its head is told to the backend with each result, and each entry holds the backend's head as
//! it was last told: neither side can rewrite its past without the other's record saying so.
//!
//! The loop owns the chain; a thread of its own writes and forces to disk ([`writer`]). Only what is on
//! disk is told. How a call ended is noted once: what the [journal](crate::journal) lost of it, the chain
//! still knows.

mod file;
mod writer;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::Path;

use orion_audit::device::{ChainLine, DeviceEntry, Happened};
use orion_domain::audit::AuditHead;
use orion_domain::{CallId, CallState, Digest};
use tokio::sync::watch;

pub use file::{FILE, OLDER, ReadError, read};
use writer::{Line, Writer};

use crate::journal::Written as InJournal;

/// Of how many calls that nobody waits for it is remembered at most which entry is theirs.
const MOST_KNOWN: usize = 32_768;
/// How many entries may wait for the disk.
const MOST_WAITING: usize = 1_024;

/// See the module.
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

/// What became of what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    /// Where the chain ends on disk.
    pub(crate) head: AuditHead,
    /// Whether writing failed; nothing is written any more then.
    pub(crate) failed: bool,
}

impl Chain {
    /// Takes up the chain of `device` in this folder, or begins one. What cannot be read is put aside.
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

    /// Notes what came of a call, once that is in the journal where it has a line `after` which it comes:
    /// what is in the chain and not in the journal would be told as another end. Of calls that somebody
    /// waits for it is not forgotten what was noted. Tells whether the result is to wait until it is on
    /// disk; where it is not, it is there already, or nothing can be noted at the moment.
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
        if self.written.borrow().failed || self.waiting.len() >= MOST_WAITING {
            return false;
        }
        let entry = DeviceEntry::link(&self.device, self.head, self.backend, what);
        self.head = entry.head();
        if self.entries.len() >= MOST_KNOWN {
            let old = entry.seq - i64::try_from(MOST_KNOWN / 2).unwrap_or(i64::MAX);
            self.entries.retain(|call, known| known.seq > old || is_waited_for(*call));
        }
        self.entries.insert(call, LastEntry::of(&entry));
        self.waiting.push_back((entry.seq, call));
        self.writer.write(Line { head: self.head, text: ChainLine::Entry(entry).to_line(), after });
        true
    }

    /// The calls whose entries came to disk since this was last asked, oldest first. Where writing
    /// failed, all that waited.
    pub fn noted(&mut self) -> Vec<CallId> {
        let Written { head, failed } = *self.written.borrow_and_update();
        let done = self.waiting.iter().take_while(|(seq, _)| failed || *seq <= head.seq).count();
        self.waiting.drain(..done).map(|(_, call)| call).collect()
    }

    /// Whether the entry of this call is on its way to the disk.
    #[must_use]
    pub fn is_waiting(&self, call: CallId) -> bool {
        self.waiting.iter().any(|(_, waiting)| *waiting == call)
    }

    /// Whether any entry is on its way to the disk.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Says when something new is on disk.
    #[must_use]
    pub fn watch(&self) -> ChainWatch {
        ChainWatch(self.written.clone())
    }

    /// Where the chain ends, as far as it is on disk.
    #[must_use]
    pub fn head(&self) -> AuditHead {
        self.written.borrow().head
    }

    /// The entry that is about this call, where it is known; 0 else.
    #[must_use]
    pub fn entry_of(&self, call: CallId) -> i64 {
        let seq = self.entries.get(&call).map_or(0, |known| known.seq);
        if seq <= self.head().seq { seq } else { 0 }
    }

    /// Whether this end of the call is noted already.
    #[must_use]
    pub fn is_known(&self, call: CallId, result: Digest) -> bool {
        self.entries.get(&call).is_some_and(|known| known.result == result)
    }

    /// How the call ended by its last entry, where it has one.
    #[must_use]
    pub fn ended_as(&self, call: CallId) -> Option<CallState> {
        self.entries.get(&call).map(|known| known.state)
    }

    /// Where the backend's audit ended when it was last told.
    #[must_use]
    pub const fn backend(&self) -> AuditHead {
        self.backend
    }

    /// Takes where the backend's audit ends. What goes back is taken too: the backend compares.
    pub const fn received(&mut self, backend: AuditHead) {
        self.backend = backend;
    }

    /// Waits until all is on disk, and ends the thread.
    pub async fn close(self) {
        self.writer.close().await;
    }
}

/// Waits for the disk without holding the chain.
#[derive(Debug)]
pub struct ChainWatch(watch::Receiver<Written>);

impl ChainWatch {
    /// Where the chain ends, as far as it is on disk.
    #[must_use]
    pub fn head(&self) -> AuditHead {
        self.0.borrow().head
    }

    /// Returns when something new is on disk, or cannot come there any more.
    pub async fn changed(mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests;
