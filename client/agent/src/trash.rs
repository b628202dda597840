//! Orion's own trash on the device. It keeps what file calls replaced or deleted for seven days, with the
//! records needed to undo them.
//!
//! Each call has a folder named by its id, with its [record](crate::record) and its replaced or deleted
//! content. Content on another file system stays there, in a hidden folder of the allowed path; records are
//! never read from that folder. This is not the desktop's trash, which others may empty, search or
//! synchronise.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder};
use jiff::Timestamp;
use orion_domain::CallId;

use crate::coordination::{Answer, Question, ask};
use crate::record::Record;
use crate::roots::LOCAL_TRASH;
use crate::state::names::TRASH;

/// Suffix of a call's folder until the call ends.
const OPEN: &str = ".open";
/// Maximum size of the trash, in bytes on the disk.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// How long content stays, in milliseconds.
const KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// Size of a call's folder and record in the trash, in bytes, without its content.
const RECORD_BYTES: u64 = 8 * 1024;

/// The trash in the agent's state folder.
#[derive(Debug)]
pub struct Trash {
    dir: Dir,
    path: PathBuf,
    /// Unfinished calls of an earlier run of the agent.
    unsettled: Mutex<Vec<CallId>>,
    kept: Mutex<TrashContents>,
    max_bytes: u64,
}

/// The contents of the trash, and the space reserved by running calls.
#[derive(Debug, Default)]
struct TrashContents {
    calls: HashMap<CallId, TrashedCall>,
    bytes: u64,
}

/// Whether a reservation found space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reservation {
    /// The space is reserved.
    Made,
    /// There is no space until expired content is removed.
    NeedsSweep,
    /// There is no space, and nothing has expired.
    NoSpace,
}

/// What the trash holds for one call.
#[derive(Debug, Clone, Copy, Default)]
struct TrashedCall {
    at_ms: i64,
    bytes: u64,
}

impl TrashContents {
    fn set(&mut self, call: CallId, held: Option<TrashedCall>) {
        let before = match held {
            Some(held) => self.calls.insert(call, held),
            None => self.calls.remove(&call),
        };
        let (before, now) = (before.unwrap_or_default().bytes, held.unwrap_or_default().bytes);
        self.bytes = self.bytes.saturating_sub(before).saturating_add(now);
    }
}

impl Trash {
    /// Opens the trash in `<state>/trash`. Creates it if it is missing, readable by the agent's account
    /// alone.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn open(state: &Path) -> io::Result<Self> {
        Self::with_room(state, MAX_BYTES)
    }

    /// As [`open`](Self::open), with a maximum size in bytes on the disk.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn with_room(state: &Path, max_bytes: u64) -> io::Result<Self> {
        let dir = private_dir(&Dir::open_ambient_dir(state, ambient_authority())?, TRASH)?;
        let (mut unsettled, mut kept) = (Vec::new(), TrashContents::default());
        for entry in dir.entries()? {
            let name = entry?.file_name();
            let Some((call, is_open)) = name.to_str().and_then(call_of) else { continue };
            if is_open {
                unsettled.push(call);
            }
            let record = dir.open_dir_nofollow(&name).and_then(|place| Record::read(&place));
            let held = record.map(|record| held_by(&record)).unwrap_or_default();
            kept.set(call, Some(held));
        }
        Ok(Self {
            dir,
            path: state.join(TRASH),
            unsettled: Mutex::new(unsettled),
            kept: Mutex::new(kept),
            max_bytes,
        })
    }

    fn kept(&self) -> MutexGuard<'_, TrashContents> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the trash as a worker process uses it: `dir` is its folder at `path`, and the agent accounts
    /// for its room.
    #[cfg(target_os = "linux")]
    pub(crate) fn of_worker(dir: Dir, path: PathBuf) -> Self {
        let (unsettled, kept) = (Mutex::default(), Mutex::default());
        Self { dir, path, unsettled, kept, max_bytes: 0 }
    }

    /// Returns whether a new call would find space for `bytes`, once `leaving` bytes have left. Counts
    /// expired content as free.
    pub(crate) fn has_room(&self, bytes: u64, leaving: u64) -> bool {
        if let Some(answer) = ask(|| Question::HasRoom { bytes, leaving }) {
            return answer == Answer::Yes;
        }
        let (now, kept) = (Timestamp::now(), self.kept());
        let old = kept.calls.values().filter(|held| is_old(held.at_ms, now));
        let leaving = old.fold(leaving, |sum, held| sum.saturating_add(held.bytes));
        let more = bytes.saturating_add(RECORD_BYTES);
        kept.bytes.saturating_add(more).saturating_sub(leaving) <= self.max_bytes
    }

    /// Reserves space for a call, once `leaving` bytes have left.
    pub(crate) fn reserve(&self, call: CallId, bytes: u64, leaving: u64) -> Reservation {
        if let Some(answer) = ask(|| Question::Reserve { call, bytes, leaving }) {
            return match answer {
                Answer::Yes => Reservation::Made,
                Answer::NeedsSweep => Reservation::NeedsSweep,
                Answer::No | Answer::Done | Answer::Stop(_) => Reservation::NoSpace,
            };
        }
        let (now, mut kept) = (Timestamp::now(), self.kept());
        let before = kept.calls.get(&call).copied();
        let more = if before.is_some() { bytes } else { bytes.saturating_add(RECORD_BYTES) };
        let after = kept.bytes.saturating_add(more).saturating_sub(leaving);
        if after <= self.max_bytes {
            let before = before.unwrap_or_default().bytes;
            let bytes = before.saturating_add(more.saturating_sub(leaving));
            kept.set(call, Some(TrashedCall { at_ms: now.as_millisecond(), bytes }));
            return Reservation::Made;
        }
        if kept.calls.values().any(|held| is_old(held.at_ms, now)) {
            Reservation::NeedsSweep
        } else {
            Reservation::NoSpace
        }
    }

    /// Releases the space that a call reserved and did not use.
    pub(crate) fn give_back_room(&self, call: CallId) {
        if ask(|| Question::GiveBack(call)).is_none() {
            self.kept().set(call, None);
        }
    }

    /// Accounts for what a call keeps in the trash.
    pub(crate) fn account(&self, call: CallId, at_ms: i64, bytes: u64) {
        if ask(|| Question::Hold { call, at_ms, bytes }).is_none() {
            self.kept().set(call, Some(TrashedCall { at_ms, bytes }));
        }
    }

    /// Frees the space of an undone call: its content has left the trash.
    pub(crate) fn taken_back(&self, call: CallId) {
        if ask(|| Question::TakenBack(call)).is_some() {
            return;
        }
        let mut kept = self.kept();
        if let Some(held) = kept.calls.get(&call).copied() {
            kept.set(call, Some(TrashedCall { bytes: RECORD_BYTES, ..held }));
        }
    }

    /// Returns the folder itself, for the sandbox, which lets tools move content there.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Returns the path, for a person.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the folder of a new call. A call begins only once.
    pub(crate) fn begin(&self, call: CallId) -> io::Result<Dir> {
        if self.find(call)?.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let name = open_name(call);
        self.dir.create_dir_with(&name, &private())?;
        self.dir.open_dir_nofollow(&name)
    }

    /// Closes a call; its changes can be undone from now on.
    pub(crate) fn end(&self, record: &Record) {
        let call = record.header.call;
        if let Err(error) = self.dir.rename(open_name(call), &self.dir, call.to_string()) {
            // The next start finds the call open and ends it.
            tracing::warn!(%call, kind = %error.kind(), "the record of a call could not be closed");
        }
        let TrashedCall { at_ms, bytes } = held_by(record);
        self.account(call, at_ms, bytes);
    }

    /// Returns the folder of a call, and whether the call is still open.
    pub(crate) fn find(&self, call: CallId) -> io::Result<Option<(Dir, bool)>> {
        for (name, open) in [(call.to_string(), false), (open_name(call), true)] {
            match self.dir.open_dir_nofollow(&name) {
                Ok(dir) => return Ok(Some((dir, open))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Removes the folder of a call with its contents.
    pub(crate) fn forget(&self, call: CallId) -> io::Result<()> {
        // Whatever happens next, the agent knows that the record may be gone.
        drop(ask(|| Question::Forgetting(call)));
        for name in [call.to_string(), open_name(call)] {
            match self.dir.remove_dir_all(&name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.give_back_room(call);
        Ok(())
    }

    /// Returns the unfinished calls of an earlier run of the agent.
    pub(crate) fn unsettled(&self) -> Vec<CallId> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that a call was cut off and is still to be cleaned up after.
    #[cfg(target_os = "linux")]
    pub(crate) fn left_open(&self, call: CallId) {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }

    /// Marks such a call as cleaned up.
    pub(crate) fn settled(&self, call: CallId) {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner).retain(|it| *it != call);
    }
}

/// Returns whether content that was put away at this moment has expired.
pub(crate) fn is_old(put_at_ms: i64, now: Timestamp) -> bool {
    now.as_millisecond().saturating_sub(put_at_ms) >= KEPT_MS
}

/// Parses the name of a call's folder. Returns the call, and whether it is still open.
pub(crate) fn call_of(name: &str) -> Option<(CallId, bool)> {
    let (id, is_open) = name.strip_suffix(OPEN).map_or((name, false), |id| (id, true));
    Some((id.parse().ok()?, is_open))
}

fn held_by(record: &Record) -> TrashedCall {
    let bytes = record.kept_bytes().saturating_add(RECORD_BYTES);
    TrashedCall { at_ms: record.header.at_ms, bytes }
}

fn open_name(call: CallId) -> String {
    format!("{call}{OPEN}")
}

/// Opens the hidden folder of an allowed path, for content that cannot move to another file system. Creates
/// it if it is missing. `None` if the name is taken by something else, or if others may read or write the
/// folder: it is not Orion's then.
pub(crate) fn local(folder: &Dir) -> io::Result<Option<Dir>> {
    let is_new = folder.symlink_metadata(LOCAL_TRASH).is_err();
    let dir = match private_dir(folder, LOCAL_TRASH) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory || is_link(&error) => {
            return Ok(None);
        }
        other => other?,
    };
    if is_private(&dir)? {
        return Ok(Some(dir));
    }
    if is_new {
        // On a file system without private folders the new folder would be litter.
        let _ = folder.remove_dir(LOCAL_TRASH);
    }
    Ok(None)
}

/// Returns the hidden folder if it exists and is private.
pub(crate) fn local_if_there(folder: &Dir) -> Option<Dir> {
    let dir = folder.open_dir_nofollow(LOCAL_TRASH).ok()?;
    is_private(&dir).is_ok_and(|it| it).then_some(dir)
}

#[cfg(unix)]
fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_link(_: &io::Error) -> bool {
    false
}

#[cfg(unix)]
fn is_private(dir: &Dir) -> io::Result<bool> {
    use cap_fs_ext::OsMetadataExt;
    let metadata = dir.dir_metadata()?;
    let own = metadata.uid() == rustix::process::geteuid().as_raw();
    Ok(own && metadata.mode() & 0o077 == 0)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same as on Unix, where it is asked")]
fn is_private(_: &Dir) -> io::Result<bool> {
    Ok(true)
}

/// Opens a folder for the agent's account alone. Creates it if it is missing.
pub(crate) fn private_dir(parent: &Dir, name: &str) -> io::Result<Dir> {
    match parent.create_dir_with(name, &private()) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    parent.open_dir_nofollow(name)
}

fn private() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has a mode to set"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    {
        use cap_std::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder
}
