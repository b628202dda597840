//! The journal of calls: an entry is on disk before the effect starts, and a result is kept until the
//! backend has stored it. A call runs once, whatever is sent again and whichever process dies.
//!
//! Reads have no effects and are kept in memory only. The loop owns the journal; a separate thread writes
//! it ([`writer`]), and its content can be tested without a disk ([`index`]).

pub mod entry;
mod error;
pub mod index;
mod writer;

use std::path::Path;

use orion_domain::{ApprovalId, CallId};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

pub use entry::{Begin, Ended};
use entry::{Entry, Loaded, read_all};
pub use error::JournalError;
use index::Index;
pub use index::{APPROVED_REMEMBERED_MS, CallStatus, Full, Interrupted};
#[doc(hidden)]
pub use writer::Command;
use writer::Writer;
pub use writer::Written;

/// Above this size the file is compacted to the entries that are still needed, in bytes.
const COMPACT_ABOVE: u64 = 4 * 1024 * 1024;
/// Below this size the file is not compacted, even if most entries are dead, in bytes.
const COMPACT_FROM: u64 = 256 * 1024;

/// The journal of one device.
#[derive(Debug)]
pub struct Journal {
    index: Index,
    writer: Writer,
    /// The size of the file with all queued writes, in bytes.
    bytes: u64,
    /// The number of entries in the file.
    lines: usize,
    /// The size after the last compaction, in bytes.
    compacted: u64,
}

/// Permission for a call to start, at once or when its entry is on disk.
#[derive(Debug)]
pub enum Admission {
    /// Nothing has to be on disk.
    Ready,
    /// The call may start when this receives `Ok`.
    Pending(oneshot::Receiver<Result<(), JournalError>>),
}

impl Admission {
    /// Waits until the call may start.
    ///
    /// # Errors
    /// [`JournalError`]; then the call must not start.
    pub async fn wait(self) -> Result<(), JournalError> {
        match self {
            Self::Ready => Ok(()),
            Self::Pending(answer) => answer.await.unwrap_or(Err(JournalError::Stopped)),
        }
    }
}

impl Journal {
    /// Creates a journal at `path` if there is none, with the entry that all calls until `now` (Unix
    /// milliseconds) were forgotten. For a device that has been connected before and lost its journal.
    ///
    /// # Errors
    /// [`JournalError`] when the file cannot be written.
    pub fn admit_loss(path: &Path, now: i64) -> Result<(), JournalError> {
        writer::create(path, &Entry::Forgot { until: latest(now) }.to_line())
    }

    /// Reads the journal at `path`, or creates one. Calls that had begun and not ended get the end
    /// that `explain` returns, which is then reported like any other. `now` is in Unix milliseconds.
    ///
    /// # Errors
    /// [`JournalError`] when the file cannot be read or written.
    pub async fn open(
        path: &Path,
        now: i64,
        explain: impl Fn(&Interrupted<'_>) -> Ended,
    ) -> Result<Self, JournalError> {
        let (writer, loaded) = Writer::open(path)?;
        Ok(Self::over(writer, loaded, now, explain).await)
    }

    /// Opens the journal on a simulated disk that contains `text`. The receiver gets the commands that
    /// the writer thread would get.
    #[doc(hidden)]
    pub async fn on_simulated_disk(
        text: &[u8],
        now: i64,
        explain: impl Fn(&Interrupted<'_>) -> Ended,
    ) -> (Self, mpsc::Receiver<Command>) {
        let (writer, commands) = Writer::simulated();
        (Self::over(writer, read_all(text), now, explain).await, commands)
    }

    async fn over(
        writer: Writer,
        loaded: Loaded,
        now: i64,
        explain: impl Fn(&Interrupted<'_>) -> Ended,
    ) -> Self {
        let mut index = Index::default();
        for entry in loaded.entries {
            index.apply(entry);
        }
        let ends: Vec<_> = index.interrupted().map(|call| (call.call, explain(&call))).collect();
        let (bytes, lines) = (loaded.bytes, loaded.lines);
        let mut journal = Self { index, writer, bytes, lines, compacted: 0 };
        if loaded.skipped > 0 {
            tracing::warn!(lines = loaded.skipped, "the journal had damaged lines in its middle");
            // They may have been about any call until now. That stays true after a compaction without them.
            let until = journal.index.latest().max(Some(latest(now))).unwrap_or(latest(now));
            let forgot = Entry::Forgot { until };
            journal.write(&forgot).await;
            journal.index.apply(forgot);
        }
        for (call, ended) in ends {
            journal.end(call, ended, now).await;
        }
        // Nothing expires yet: a device may start before its clock is right, and cannot connect until
        // it is.
        journal
    }

    /// Returns the status of a call.
    #[must_use]
    pub fn seen(&self, call: CallId) -> CallStatus {
        self.index.seen(call)
    }

    /// Returns whether an unknown call with effects certainly never ran: no entry of its time was
    /// forgotten or lost.
    #[must_use]
    pub fn remembers(&self, call: CallId) -> bool {
        self.index.remembers(call)
    }

    /// Returns whether a call was ever run on this approval.
    #[must_use]
    pub fn is_spent(&self, approval: ApprovalId) -> bool {
        self.index.is_spent(approval)
    }

    /// Records that a call begins. The call may start when [`Admission::wait`] returns `Ok`.
    ///
    /// # Errors
    /// [`Full`] when too many results wait for the backend or too many calls ran; then nothing is recorded.
    pub async fn begin(&mut self, begin: Begin) -> Result<Admission, Full> {
        self.index.expire(begin.at);
        self.index.check_room(&begin)?;
        let durable = begin.is_durable();
        let entry = Entry::Began(begin);
        let line = durable.then(|| entry.to_line());
        self.index.apply(entry);
        let Some(line) = line else { return Ok(Admission::Ready) };
        self.count(&line);
        Ok(Admission::Pending(self.writer.append_synced(line).await))
    }

    /// Records a rejected call, so that it gets the same answer if it is sent again.
    ///
    /// # Errors
    /// [`Full`] as for [`begin`](Self::begin).
    pub fn refuse(&mut self, begin: Begin, ended: Ended) -> Result<(), Full> {
        self.index.check_room(&begin)?;
        // The call does not run, so nothing has to be on disk and the approval is not spent.
        let begin = Begin { has_effects: false, approval: None, ..begin };
        let (call, at) = (begin.call, begin.at);
        self.index.apply(Entry::Began(begin));
        self.index.apply(Entry::Ended { call, ended, at });
        Ok(())
    }

    /// Records how a call ended. The entry survives the death of this process once the returned receiver
    /// gets `Ok`, but no call waits for a sync: if a power cut loses the entry, the call is `unknown`,
    /// which is true. Returns `None` for a call that has no line on disk.
    pub async fn end(&mut self, call: CallId, ended: Ended, now: i64) -> Option<Written> {
        let durable = self.index.is_durable(call);
        let entry = Entry::Ended { call, ended, at: now };
        let mut written = None;
        if durable {
            let line = entry.to_line();
            self.count(&line);
            written = Some(self.writer.append_written(line).await);
        }
        self.index.apply(entry);
        written
    }

    /// Handles the acknowledgement that the backend stored a result: forgets the result, and keeps that the
    /// call ran.
    pub async fn acknowledge(&mut self, call: CallId, now: i64) {
        if !matches!(self.index.seen(call), CallStatus::Ended) {
            return;
        }
        let entry = Entry::Acked { call, at: now };
        if self.index.is_durable(call) {
            self.write(&entry).await;
        }
        self.index.apply(entry);
        self.index.expire(now);
        self.compact_if_worthwhile().await;
    }

    /// Returns how a call ended. None once the backend has acknowledged it.
    #[must_use]
    pub fn result(&self, call: CallId) -> Option<&Ended> {
        self.index.result(call)
    }

    /// Returns the tool of a call. None if the call is unknown.
    #[must_use]
    pub fn tool(&self, call: CallId) -> Option<&str> {
        self.index.tool(call)
    }

    /// Returns the calls that were under way when the agent stopped or the link was lost.
    #[must_use]
    pub fn unfinished(&self) -> Vec<CallId> {
        self.index.unfinished()
    }

    /// Returns the calls whose results wait for an acknowledgement, oldest first.
    #[must_use]
    pub fn unacknowledged(&self) -> Vec<CallId> {
        self.index.unacknowledged()
    }

    /// Syncs the file and stops the writer.
    pub async fn close(self) {
        self.writer.close().await;
    }

    async fn write(&mut self, entry: &Entry) {
        let line = entry.to_line();
        self.count(&line);
        self.writer.append(line).await;
    }

    fn count(&mut self, line: &[u8]) {
        self.bytes = self.bytes.saturating_add(line.len() as u64);
        self.lines += 1;
    }

    async fn compact_if_worthwhile(&mut self) {
        let mostly_dead = self.bytes > COMPACT_FROM && self.index.lines() < self.lines / 2;
        let large = self.bytes > COMPACT_ABOVE.max(self.compacted.saturating_mul(2));
        if !(mostly_dead || large) {
            return;
        }
        let entries = self.index.snapshot();
        let text: Vec<u8> = entries.iter().flat_map(Entry::to_line).collect();
        self.bytes = text.len() as u64;
        self.compacted = self.bytes;
        self.lines = entries.len();
        self.writer.rewrite(text).await;
    }
}

/// Returns the greatest id of a call that is made at `now` (Unix milliseconds): ids begin with their time.
fn latest(now: i64) -> CallId {
    let time = u128::try_from(now).unwrap_or_default() & 0xffff_ffff_ffff;
    CallId::new(Uuid::from_u128((time << 80) | 0x7fff_bfff_ffff_ffff_ffff))
}

#[cfg(test)]
mod tests;
