//! How files are changed: every change of a call is planned in the call's record before it
//! is made, each file appears as the old or the new whole, and what is replaced or deleted goes to
//! the [trash](crate::trash). So a call can be taken back, and what a killed agent left behind is
//! cleaned up at its next start.
//!
//! Not here: which path may be changed. A `Target` comes from [`Roots`](crate::roots::Roots).

mod checked_stamp;
mod contents;
mod file_stamp;
mod folders;
mod path_lock;
mod place;
pub(crate) mod record;
mod recover;
mod rename;
mod rights;
mod staged;
mod step_error;
mod swap;
mod tail;
mod target;
#[cfg(test)]
mod tests;
mod trash_space;
mod undo;
mod undo_steps;

use cap_std::fs::{Dir, File};
use jiff::Timestamp;
use orion_domain::{CallId, DevicePath, ErrorCode, ToolError};

pub(crate) use contents::forget_local_of;
pub(crate) use file_stamp::{
    FileStamp, MAX_HASHED_BYTES, NoDigest, disk_bytes, inode, mode, of_reader,
};
pub(crate) use path_lock::lock_paths;
pub(crate) use place::Precondition;
use record::{Header, Line, Record, RecordedStep, Step};
pub use recover::{Recovered, recover};
pub(crate) use rights::is_executable;
pub(crate) use staged::{Staged, StagedFolder};
pub(crate) use step_error::StepError;
#[cfg(test)]
pub(crate) use swap::NO_SWAP;
pub(crate) use target::{Target, disk_bytes_at};
pub(crate) use trash_space::TrashSpace;
pub(crate) use undo::{UndoneCall, as_it_acts, undo};

use crate::tools::Context;

/// What one call changes. Dropped before [`finish`](Self::finish), it takes back what was done.
#[derive(Debug)]
#[must_use]
pub(crate) struct Change<'a> {
    context: &'a Context<'a>,
    header: Header,
    room: TrashSpace<'a>,
    log: Option<Log>,
    kept_at: Option<String>,
    /// The paths that were changed, so that what was shown of them is spent.
    changed: Vec<DevicePath>,
    is_rolling_back: bool,
}

/// The record, in its file and as it is known.
#[derive(Debug)]
struct Log {
    /// The folder of the call.
    place: Dir,
    file: File,
    record: Record,
}

impl<'a> Change<'a> {
    /// What a call of this tool changes. Nothing is on the disk before the first step. `paths` are
    /// those that the call names and may change; to take it back, they are asked for again. `room` is for
    /// what it replaces or deletes.
    pub(crate) fn begin(
        context: &'a Context<'_>,
        tool: &str,
        paths: &[&DevicePath],
        room: TrashSpace<'a>,
    ) -> Self {
        let header = Header {
            call: context.call,
            tool: tool.to_owned(),
            paths: paths.iter().map(|path| (*path).clone()).collect(),
            at_ms: Timestamp::now().as_millisecond(),
            is_final: room.is_final(),
            touched: context.touches.into(),
            undo: None,
        };
        Self {
            context,
            header,
            room,
            log: None,
            kept_at: None,
            changed: Vec::new(),
            is_rolling_back: false,
        }
    }

    /// What an undoing changes of the call that this was the beginning of.
    fn undoing(context: &'a Context<'_>, tool: &str, of: &Header, room: TrashSpace<'a>) -> Self {
        let paths: Vec<&DevicePath> = of.paths.iter().collect();
        let mut change = Self::begin(context, tool, &paths, room);
        (change.header.touched, change.header.undo) = (of.touched.clone(), Some(of.undoing()));
        change
    }

    /// The change stays.
    pub(crate) fn finish(mut self) {
        let Some(log) = self.log.take() else { return };
        self.close(&log.record);
    }

    /// Where, for a person, the last thing lies that went to the trash; none where it does not stay there.
    pub(crate) fn kept_path(&self) -> Option<String> {
        self.kept_at.clone().filter(|_| !self.room.is_final())
    }

    /// Sees to room in the trash for more than was thought of at the beginning.
    ///
    /// # Errors
    /// As [`Room::take`].
    pub(crate) fn more_room(
        &mut self,
        path: &DevicePath,
        disk_bytes: u64,
    ) -> Result<(), ToolError> {
        self.room.more(self.context, path, disk_bytes)?;
        self.header.is_final |= self.room.is_final();
        Ok(())
    }

    fn call(&self) -> CallId {
        self.header.call
    }

    /// The step that was planned last.
    fn step(&self) -> usize {
        self.log.as_ref().map_or(0, |log| log.record.steps.len().saturating_sub(1))
    }

    fn noted(&self) -> &[RecordedStep] {
        self.log.as_ref().map_or(&[], |log| &log.record.steps)
    }

    /// Notes that a step is about to be taken. What an earlier attempt left unfinished goes first.
    fn plan(&mut self, target: &Target, step: Step) -> Result<(), StepError> {
        if self.log.is_none() {
            self.log = Some(self.open(target)?);
        } else if self.noted().last().is_some_and(|last| !last.done) {
            self.settle()?;
        }
        self.add(target, Line::Plan(step))
    }

    /// Notes what a step is about to put in place. Then the record is on the disk, and the step may be
    /// taken.
    fn ready(&mut self, target: &Target, print: &FileStamp) -> Result<(), StepError> {
        self.add(target, Line::Ready(print.clone()))?;
        self.sync(target)
    }

    /// Brings the record to the disk. The file systems that survive a power cut at all bring the names
    /// of new files with them; lost, the record would be missed by nobody, for the change comes later.
    fn sync(&self, target: &Target) -> Result<(), StepError> {
        let Some(log) = &self.log else { return Ok(()) };
        log.file.sync_data().map_err(|error| StepError::io(&error, target))
    }

    /// Notes that the step is done. Without the line, the next start finds out.
    fn done(&mut self, kept: Option<FileStamp>) {
        let Some(log) = &mut self.log else { return };
        if let Some(noted) = log.record.steps.last() {
            self.changed.extend(noted.step.paths().cloned());
        }
        if let Err(error) = log.add(Line::Done { kept }) {
            tracing::warn!(call = %self.header.call, kind = %error.kind(), "a change could not be noted as done");
        }
    }

    fn add(&mut self, target: &Target, line: Line) -> Result<(), StepError> {
        let Some(log) = &mut self.log else { return Ok(()) };
        log.add(line).map_err(|error| StepError::io(&error, target))
    }

    fn open(&self, target: &Target) -> Result<Log, StepError> {
        let place = match self.context.trash.begin(self.call()) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(StepError::Failed(ToolError::new(
                    ErrorCode::PreconditionFailed,
                    "A call of this id changed something before, and a call runs once. Make a new call.",
                )));
            }
            other => other.map_err(|error| StepError::io(&error, target))?,
        };
        match record::create(&place, &self.header) {
            Ok(file) => Ok(Log { place, file, record: Record::new(self.header.clone()) }),
            Err(error) => {
                self.forget();
                Err(StepError::io(&error, target))
            }
        }
    }

    /// Cleans up a step that was begun and not done.
    fn settle(&mut self) -> Result<(), ToolError> {
        let (step, roots) = (self.step(), self.context.roots);
        let Some(noted) = self.noted().last().filter(|last| !last.done).cloned() else {
            return Ok(());
        };
        let of = (self.call(), step);
        if let Some(kept) = recover::settle(self.context.trash, roots, of, &noted)? {
            self.done(kept);
        }
        Ok(())
    }

    fn close(&mut self, record: &Record) {
        self.room.settle();
        if self.room.is_final() {
            forget_local_of(self.context.roots, record);
            return self.forget();
        }
        self.context.trash.end(record);
    }

    fn forget(&self) {
        if let Err(error) = self.context.trash.forget(self.call()) {
            tracing::warn!(call = %self.header.call, kind = %error.kind(), "a record could not be removed");
        }
    }
}

impl Drop for Change<'_> {
    /// The call failed or was stopped on the way: what it did is taken back, as far as nobody else
    /// changed it since.
    fn drop(&mut self) {
        if self.log.is_none() {
            return;
        }
        self.is_rolling_back = true;
        if let Err(error) = self.settle() {
            // The record stays as it is, and the next start tries again.
            tracing::warn!(call = %self.header.call, code = error.code.as_str(), "what a call began could not be cleaned up");
            self.room.settle();
            return;
        }
        let is_back = undo_steps::roll_back(self);
        let Some(mut log) = self.log.take() else { return };
        if is_back && log.record.kept_bytes() == 0 {
            return self.forget();
        }
        if is_back {
            // A record of a call that failed is of use to nobody; what it kept goes with its time.
            let _ = log.add(Line::Undone(self.header.call));
        }
        self.close(&log.record);
    }
}

impl Log {
    /// Adds a line to the file, or nothing.
    fn add(&mut self, line: Line) -> std::io::Result<()> {
        let before = self.file.metadata()?.len();
        if let Err(error) = record::add(&mut self.file, &line) {
            // Half a line would hide those after it.
            let _ = self.file.set_len(before);
            return Err(error);
        }
        self.record.apply(line);
        Ok(())
    }
}
