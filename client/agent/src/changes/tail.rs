//! Appends to a file in place, and cuts off an appended part. For every append, and for files too large to
//! rewrite. The trash holds the cut part. It also holds appended text until the append is complete, so that a
//! partial append can be told from text that others wrote.

use std::io::{self, Read, Seek, SeekFrom, Write};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, OpenOptions};
use orion_domain::{CallId, Digest};

use super::contents::find;
use super::{Change, FileStamp, StepError, Target};
use crate::entry::{MAX_HASHED_BYTES, NoDigest, of_reader};
use crate::record::Step;
use crate::trash::Trash;

impl Change<'_> {
    /// Appends text to a file that was opened for appending.
    ///
    /// # Errors
    /// [`StepError`]; the file is unchanged then, as far as the file system allows.
    pub(crate) fn append(
        &mut self,
        target: &Target,
        file: &File,
        text: &[u8],
    ) -> Result<(), StepError> {
        let failed = |error: &io::Error| StepError::io(error, target);
        let held = self.hold(target)?;
        let mut before = FileStamp::of_file(file).map_err(|error| failed(&error))?;
        self.hold_opened(&held, target, &before)?;
        let check = || self.context.check();
        before.digest = digest_to(file, before.bytes, &check).map_err(|error| error.of(target))?;
        let (at, added, digest) = (target.spot(), text.len() as u64, Digest::of(text));
        self.plan(target, Step::Extended { at, before, added, text: digest })?;
        self.put_aside(text).map_err(|error| failed(&error))?;
        self.sync(target)?;
        let mut end = file;
        end.write_all(text).and_then(|()| file.sync_all()).map_err(|error| failed(&error))?;
        let after = FileStamp::of_file(file).map_err(|error| failed(&error))?;
        self.add(target, super::Line::Ready(after))?;
        self.done(None);
        self.drop_aside();
        Ok(())
    }

    /// Cuts off the last `cut` bytes of a file that still has the stamp `now`.
    pub(super) fn shorten(
        &mut self,
        target: &Target,
        now: &FileStamp,
        cut: u64,
    ) -> Result<(), StepError> {
        let failed = |error: &io::Error| StepError::io(error, target);
        self.hold(target)?;
        let mut file = open(target).map_err(|error| failed(&error))?;
        let before = FileStamp::of_file(&file).map_err(|error| failed(&error))?;
        if !now.is_same(&before) {
            return Err(StepError::Changed(target.path.clone()));
        }
        let length = before.bytes.saturating_sub(cut);
        self.plan(target, Step::Shortened { at: target.spot(), before, cut })?;
        let mut tail = Vec::new();
        file.seek(SeekFrom::Start(length))
            .and_then(|_| (&file).take(cut).read_to_end(&mut tail))
            .and_then(|_| self.put_aside(&tail))
            .map_err(|error| failed(&error))?;
        self.sync(target)?;
        if !FileStamp::of_file(&file).is_ok_and(|still| now.is_same(&still)) {
            return Err(StepError::Changed(target.path.clone()));
        }
        file.set_len(length).and_then(|()| file.sync_all()).map_err(|error| failed(&error))?;
        let after = FileStamp::of_file(&file).map_err(|error| failed(&error))?;
        self.add(target, super::Line::Ready(after))?;
        self.done(None);
        Ok(())
    }

    /// Removes the text from the trash: the file has it, and the digest identifies it from here on.
    fn drop_aside(&self) {
        if let Some(log) = &self.log
            && let Err(error) = log.place.remove_file(format!("content-{}", self.step()))
        {
            tracing::debug!(kind = %error.kind(), "what was added to a file still lies in the trash");
        }
    }

    /// Writes the content of the step into the trash.
    fn put_aside(&self, text: &[u8]) -> io::Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).follow(FollowSymlinks::No);
        let mut file = log.place.open_with(format!("content-{}", self.step()), &options)?;
        file.write_all(text)?;
        file.sync_all()
    }
}

/// Returns the text that an earlier step appended or cut.
pub(super) fn text_of(
    trash: &Trash,
    of: (CallId, usize),
    target: &Target,
) -> io::Result<Option<Vec<u8>>> {
    let Some((content, _)) = find(trash, of, target)? else { return Ok(None) };
    let mut text = Vec::new();
    open_in(&content.dir, &content.name, OpenOptions::new().read(true))?
        .take(MAX_HASHED_BYTES)
        .read_to_end(&mut text)?;
    Ok(Some(text))
}

/// Opens the file for appending.
pub(super) fn open_to_add(target: &Target) -> io::Result<File> {
    open_in(&target.dir, &target.name, OpenOptions::new().read(true).append(true))
}

/// Opens the file for reading, as a preview may.
pub(super) fn open_to_read(target: &Target) -> io::Result<File> {
    open_in(&target.dir, &target.name, OpenOptions::new().read(true))
}

/// Opens the file for reading and writing.
fn open(target: &Target) -> io::Result<File> {
    open_in(&target.dir, &target.name, OpenOptions::new().read(true).write(true))
}

fn open_in(dir: &Dir, name: &str, options: &mut OpenOptions) -> io::Result<File> {
    let file = dir.open_with(name, options.follow(FollowSymlinks::No).nonblock(true))?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(file)
}

/// Returns the digest of the bytes before `end`. `None` if that is more than [`MAX_HASHED_BYTES`].
pub(super) fn digest_to(
    mut file: &File,
    end: u64,
    check: crate::entry::Check<'_>,
) -> Result<Option<Digest>, NoDigest> {
    if end > MAX_HASHED_BYTES {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(0))?;
    of_reader(file.take(end), &mut |_| check()).map(Some)
}

/// Returns the digest of the bytes from `start` to the end.
pub(super) fn digest_from(
    mut file: &File,
    start: u64,
    check: crate::entry::Check<'_>,
) -> Result<Digest, NoDigest> {
    file.seek(SeekFrom::Start(start))?;
    of_reader(file, &mut |_| check())
}

/// Returns whether the file ends with this text at this offset.
pub(super) fn ends_with(file: &mut File, from: u64, text: &[u8]) -> io::Result<bool> {
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.take(text.len() as u64 + 1).read_to_end(&mut tail)?;
    Ok(tail == text)
}

/// Cleans up an interrupted append: removes a partial text unless others wrote as well. Returns whether the
/// text is complete.
pub(super) fn settle(
    trash: &Trash,
    of: (CallId, usize),
    target: &Target,
    before: &FileStamp,
) -> io::Result<bool> {
    let Some(text) = text_of(trash, of, target)? else { return Ok(false) };
    let mut file = open(target)?;
    let now = FileStamp::of_file(&file)?;
    if now.inode != before.inode || now.bytes <= before.bytes {
        return Ok(false);
    }
    let there = usize::try_from(now.bytes - before.bytes).unwrap_or(usize::MAX);
    if there >= text.len() {
        return ends_with(&mut file, before.bytes, &text);
    }
    if ends_with(&mut file, before.bytes, text.get(..there).unwrap_or_default())? {
        file.set_len(before.bytes)?;
        file.sync_all()?;
    }
    Ok(false)
}
