//! Changes files for tool calls. The call's record names every change before it is made. Each file appears as
//! the whole old or the whole new version. Replaced and deleted content goes to the [trash](crate::trash). So
//! a call can be undone, and the next start cleans up after a killed agent.
//!
//! Does not decide which path may change: a `Target` comes from [`Roots`](crate::roots::Roots).

mod checked_stamp;
mod contents;
mod folders;
mod path_lock;
mod place;
mod recover;
mod rename;
mod rights;
mod staged;
mod step_error;
mod swap;
mod sweep;
mod tail;
#[cfg(test)]
mod tests;
mod trash_space;
mod undo;
mod undo_steps;

use cap_std::fs::{Dir, File};
use jiff::Timestamp;
use orion_domain::{CallId, DevicePath, ErrorCode, ToolError};

use contents::forget_local_of;
pub(crate) use path_lock::lock_paths;
pub(crate) use place::Precondition;
#[cfg(target_os = "linux")]
pub(crate) use recover::recover_now;
pub use recover::{Recovered, recover};
#[cfg(unix)]
pub(crate) use rights::permissions;
pub(crate) use staged::{Staged, StagedFolder};
pub(crate) use step_error::StepError;
#[cfg(test)]
pub(crate) use swap::NO_SWAP;
#[cfg(test)]
pub(crate) use sweep::make_room;
pub use sweep::{SweepResult, sweep};
pub(crate) use trash_space::TrashSpace;
pub(crate) use undo::{UndoneCall, as_it_acts, undo};

use crate::call::FileContext;
use crate::entry::{FileStamp, Target};
use crate::record::{self, Header, Line, Record, RecordedStep, Step};

/// The changes of one call. Rolls back when dropped before [`finish`](Self::finish).
#[derive(Debug)]
#[must_use]
pub(crate) struct Change<'a> {
    context: &'a FileContext<'a>,
    header: Header,
    room: TrashSpace<'a>,
    log: Option<Log>,
    kept_at: Option<String>,
    /// The changed paths. A path in this list is not compared with the preview again.
    changed: Vec<DevicePath>,
    is_rolling_back: bool,
}

/// The record of a call: its open file and its state in memory.
#[derive(Debug)]
struct Log {
    /// The call's folder in the trash.
    place: Dir,
    file: File,
    record: Record,
}

impl<'a> Change<'a> {
    /// Begins the changes of a call of this tool; writes nothing to the disk before the first step. `paths`
    /// are the paths that the call names and may change; undoing the call evaluates them again. `room`
    /// reserves trash space for replaced and deleted content.
    pub(crate) fn begin(
        context: &'a FileContext<'_>,
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

    /// Begins the changes of a call that undoes the call of header `of`.
    fn undoing(
        context: &'a FileContext<'_>,
        tool: &str,
        of: &Header,
        room: TrashSpace<'a>,
    ) -> Self {
        let paths: Vec<&DevicePath> = of.paths.iter().collect();
        let mut change = Self::begin(context, tool, &paths, room);
        (change.header.touched, change.header.undo) = (of.touched.clone(), Some(of.undoing()));
        change
    }

    /// Keeps the changes and closes the record.
    pub(crate) fn finish(mut self) {
        let Some(log) = self.log.take() else { return };
        self.close(&log.into_record());
    }

    /// Returns the trash path of the content kept last, for a person. `None` if the trash keeps nothing of
    /// this call.
    pub(crate) fn kept_path(&self) -> Option<String> {
        self.kept_at.clone().filter(|_| !self.room.is_final())
    }

    /// Reserves more trash space than [`begin`](Self::begin) was given.
    ///
    /// # Errors
    /// As [`TrashSpace::take`].
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

    /// Returns the index of the last planned step.
    fn step(&self) -> usize {
        self.log.as_ref().map_or(0, |log| log.record.steps.len().saturating_sub(1))
    }

    fn noted(&self) -> &[RecordedStep] {
        self.log.as_ref().map_or(&[], |log| &log.record.steps)
    }

    /// Records a planned step. Settles an unfinished earlier attempt first.
    fn plan(&mut self, target: &Target, step: Step) -> Result<(), StepError> {
        if self.log.is_none() {
            self.log = Some(self.open(target)?);
        } else if self.noted().last().is_some_and(|last| !last.done) {
            self.settle()?;
        }
        self.add(target, Line::Plan(step))
    }

    /// Records what a step is about to put in place. The record is on the disk afterwards, so the step may
    /// run.
    fn ready(&mut self, target: &Target, stamp: &FileStamp) -> Result<(), StepError> {
        self.add(target, Line::Ready(stamp.clone()))?;
        self.sync(target)
    }

    /// Syncs the record to the disk. File systems that survive a power cut sync the names of new files as
    /// well. Losing the record is harmless here, because the change comes later.
    fn sync(&self, target: &Target) -> Result<(), StepError> {
        let Some(log) = &self.log else { return Ok(()) };
        log.file.sync_data().map_err(|error| StepError::io(&error, target))
    }

    /// Records that the step is done. Without this line, recovery at the next start establishes it.
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
                return Err(StepError::Failed(
                    ToolError::new(
                        ErrorCode::PreconditionFailed,
                        "A call of this id changed something before, and a call runs once.",
                    )
                    .hint("make a new call"),
                ));
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

    /// Cleans up a step that began and did not finish.
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
    /// Rolls back a call that failed or was stopped. Leaves alone what others changed since.
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
        let keeps = log.record.kept_bytes() > 0;
        if is_back && keeps {
            // The record of a failed call has no use; its kept content expires with the sweep.
            let _ = log.add(Line::Undone(self.header.call));
        }
        let record = log.into_record();
        if is_back && !keeps {
            return self.forget();
        }
        self.close(&record);
    }
}

impl Log {
    /// Closes the file and the folder, which Windows renames and removes only when they are closed.
    fn into_record(self) -> Record {
        self.record
    }

    /// Appends a line to the file, whole or not at all.
    fn add(&mut self, line: Line) -> std::io::Result<()> {
        let before = self.file.metadata()?.len();
        if let Err(error) = record::add(&mut self.file, &line) {
            // A partial line would hide the lines after it.
            let _ = self.file.set_len(before);
            return Err(error);
        }
        self.record.apply(line);
        Ok(())
    }
}
