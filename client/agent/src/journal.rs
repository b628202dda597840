//! What this device did and has yet to tell: on disk before an effect begins, forgotten once the
//! backend has it on its record. A call runs once, whatever is sent again and whoever dies.
//!
//! Reads change nothing and are held in memory only. The loop owns the journal; a thread of its own
//! does the writing ([`writer`]), and what is held can be tried without a disk ([`index`]).

pub mod entry;
mod error;
pub mod index;
mod writer;

use std::path::Path;

use orion_domain::{ApprovalId, CallId};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use entry::{Entry, Loaded, read_all};
pub use error::JournalError;
use index::Index;
pub use index::{APPROVED_REMEMBERED_MS, Begin, CallStatus, Ended, Full, Interrupted};
#[doc(hidden)]
pub use writer::Command;
use writer::Writer;
pub use writer::Written;

/// Above this size the file is written anew with what is still needed, in bytes.
const COMPACT_ABOVE: u64 = 4 * 1024 * 1024;
/// Below this size it is not worth the while even when most of it is dead, in bytes.
const COMPACT_FROM: u64 = 256 * 1024;

/// The journal of one device.
#[derive(Debug)]
pub struct Journal {
    index: Index,
    writer: Writer,
    /// The size of the file, in bytes, as far as it was asked for.
    bytes: u64,
    /// The entries in it.
    lines: usize,
    /// The size it had when it was last written anew.
    compacted: u64,
}

/// A call that may start, at once or when its entry is on disk.
#[derive(Debug)]
pub enum Admission {
    /// Nothing has to be on disk.
    Ready,
    /// May start when this says so.
    Pending(oneshot::Receiver<Result<(), JournalError>>),
}

impl Admission {
    /// Waits until the call may start.
    ///
    /// # Errors
    /// [`JournalError`]; then it must not start.
    pub async fn wait(self) -> Result<(), JournalError> {
        match self {
            Self::Ready => Ok(()),
            Self::Pending(answer) => answer.await.unwrap_or(Err(JournalError::Stopped)),
        }
    }
}

impl Journal {
    /// Notes where there is no journal at `path` that there was one, and that nothing is known of the calls
    /// until `now`, in Unix milliseconds: what a device does that has been connected before.
    ///
    /// # Errors
    /// [`JournalError`] when the file cannot be written.
    pub fn admit_loss(path: &Path, now: i64) -> Result<(), JournalError> {
        writer::create(path, &Entry::Forgot { until: latest(now) }.to_line())
    }

    /// Reads the journal at `path`, or begins one. Calls that had begun and not ended get the end
    /// that `explain` gives them, which is then reported like any other. `now` is in Unix
    /// milliseconds.
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

    /// The same on a disk that a simulation plays: it held `text`, and what is to be written comes to
    /// it, as it else comes to the thread that writes.
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
            // They may have been about any call until now, also once the file is written anew without them.
            let until = journal.index.latest().max(Some(latest(now))).unwrap_or(latest(now));
            let forgot = Entry::Forgot { until };
            journal.write(&forgot).await;
            journal.index.apply(forgot);
        }
        for (call, ended) in ends {
            journal.end(call, ended, now).await;
        }
        // Nothing is forgotten yet: a device may start before its clock is right, and cannot
        // connect before it is.
        journal
    }

    /// What is known of a call.
    #[must_use]
    pub fn seen(&self, call: CallId) -> CallStatus {
        self.index.seen(call)
    }

    /// Whether a call with effects that is not known was never noted: nothing of its time was forgotten or
    /// lost.
    #[must_use]
    pub fn remembers(&self, call: CallId) -> bool {
        self.index.remembers(call)
    }

    /// Whether a call was ever run on this approval.
    #[must_use]
    pub fn is_spent(&self, approval: ApprovalId) -> bool {
        self.index.is_spent(approval)
    }

    /// Notes that a call begins. It may start when the admission says so.
    ///
    /// # Errors
    /// [`Full`] when too much waits for the backend; nothing is noted then.
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

    /// Notes a call that will not run, so that it is answered the same if it is sent again.
    ///
    /// # Errors
    /// [`Full`] as for [`begin`](Self::begin).
    pub fn refuse(&mut self, begin: Begin, ended: Ended) -> Result<(), Full> {
        self.index.check_room(&begin)?;
        // Nothing happens, so nothing has to be on disk and the approval is not spent.
        let begin = Begin { has_effects: false, approval: None, ..begin };
        let (call, at) = (begin.call, begin.at);
        self.index.apply(Entry::Began(begin));
        self.index.apply(Entry::Ended { call, ended, at });
        Ok(())
    }

    /// Notes how a call ended. It is in the file soon, and survives the death of this process from when
    /// what is given back says so, but no call waits for it to be forced to disk: lost, the call is
    /// `unknown`, which is true.
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

    /// The backend has the result on its record: it is forgotten here, and that the call ran is not.
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

    /// How a call ended, while the backend has not acknowledged it.
    #[must_use]
    pub fn result(&self, call: CallId) -> Option<&Ended> {
        self.index.result(call)
    }

    /// The tool of a call that is known.
    #[must_use]
    pub fn tool(&self, call: CallId) -> Option<&str> {
        self.index.tool(call)
    }

    /// Calls that were under way when the agent stopped or the link was lost.
    #[must_use]
    pub fn unfinished(&self) -> Vec<CallId> {
        self.index.unfinished()
    }

    /// Calls whose results wait for an acknowledgement, oldest first.
    #[must_use]
    pub fn unacknowledged(&self) -> Vec<CallId> {
        self.index.unacknowledged()
    }

    /// Forces what is written to disk and stops the writer.
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

/// The latest id of a call that is made at this moment, in Unix milliseconds: ids begin with their time.
fn latest(now: i64) -> CallId {
    let time = u128::try_from(now).unwrap_or_default() & 0xffff_ffff_ffff;
    CallId::new(Uuid::from_u128((time << 80) | 0x7fff_bfff_ffff_ffff_ffff))
}

#[cfg(test)]
mod tests;
