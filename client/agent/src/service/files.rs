//! Puts files in place whole, in folders that no other account can write, and removes them.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::ServiceError;
use crate::owner_file::remove;

const OTHERS_WRITE: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;
const STICKY: u32 = 0o1000;

/// A file that was put in place. Unless it is kept, what was there before is put back.
#[derive(Debug)]
pub(super) struct Placed {
    path: PathBuf,
    /// What was there before.
    before: Option<PathBuf>,
}

/// Writes a file under its name in one step. The folder is made if it is missing, and must belong to this account or to
/// root. A link that has the name is replaced, not followed.
pub(super) fn place(
    path: &Path,
    mode: u32,
    content: &mut impl io::Read,
) -> Result<Placed, ServiceError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(ServiceError::at(folder))?;
    refuse_others_folder(folder)?;
    let new = beside(path, "new");
    let written = (|| {
        remove(&new)?;
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
        io::copy(content, &mut file)?;
        file.flush()?;
        // The mask of the account may have taken bits away.
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))?;
        file.sync_all()
    })();
    let before = beside(path, "previous");
    let moved = written.and_then(|()| {
        remove(&before)?;
        let there = fs::symlink_metadata(path);
        if there.as_ref().is_ok_and(fs::Metadata::is_dir) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let before = there.is_ok().then_some(&before);
        if let Some(before) = before {
            fs::rename(path, before)?;
        }
        let renamed = fs::rename(&new, path);
        match (renamed, before) {
            (Ok(()), before) => Ok(before.cloned()),
            (Err(error), None) => Err(error),
            (Err(error), Some(before)) => fs::rename(before, path).and(Err(error)),
        }
    });
    match moved {
        Ok(before) => Ok(Placed { path: path.to_owned(), before }),
        Err(source) => {
            // The error that matters is the first one.
            drop(remove(&new));
            Err(ServiceError::Io { path: path.to_owned(), source })
        }
    }
}

impl Placed {
    /// Keeps the file, and gives up what was there before.
    pub(super) fn keep(self) {
        if let Some(before) = self.before {
            // A copy that stays does no harm, and the next installation removes it.
            drop(remove(&before));
        }
    }

    /// Puts back what was there before, or removes the file.
    pub(super) fn undo(self) {
        // The error that matters is the one that this is undone for.
        drop(match self.before {
            Some(before) => fs::rename(before, &self.path),
            None => remove(&self.path).map(drop),
        });
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{ending}"))
}

/// Refuses a folder, links resolved, in which another account than this one and root could replace a file or the folder
/// itself.
fn refuse_others_folder(folder: &Path) -> Result<(), ServiceError> {
    let me = rustix::process::geteuid().as_raw();
    let real = fs::canonicalize(folder).map_err(ServiceError::at(folder))?;
    for folder in real.ancestors() {
        let found = fs::metadata(folder).map_err(ServiceError::at(folder))?;
        let refuse = |why, fix| Err(ServiceError::Distrusted { path: folder.to_owned(), why, fix });
        // Many systems give each account a group of its own, with the same number.
        let is_own_group = found.gid() == me && found.mode() & OTHERS_WRITE == 0;
        // In a sticky folder, such as /tmp, others cannot replace what is not theirs.
        let is_sticky = found.mode() & STICKY != 0 && folder != real;
        if found.uid() != me && found.uid() != 0 {
            return refuse("belongs to another account", "give it to this one with chown");
        }
        if found.mode() & (GROUP_WRITES | OTHERS_WRITE) != 0 && !is_own_group && !is_sticky {
            return refuse("may be written by other accounts", "take that away with chmod go-w");
        }
    }
    Ok(())
}

/// Removes the folder and the empty folders above it, below `end`. Folders with something in them stay.
pub(super) fn remove_empty(folder: &Path, end: &Path) {
    for folder in folder.ancestors() {
        if folder == end || !folder.starts_with(end) || fs::remove_dir(folder).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_put_in_place_whole_and_taken_back_to_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bin/program");
        place(&path, 0o755, &mut &b"one"[..]).unwrap().keep();
        let placed = place(&path, 0o755, &mut &b"two"[..]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o755);
        placed.undo();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn a_link_is_replaced_and_what_it_leads_to_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("program"), folder.path().join("other"));
        fs::write(&other, "theirs").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        place(&path, 0o644, &mut &b"ours"[..]).unwrap().keep();
        assert_eq!(fs::read(&other).unwrap(), b"theirs");
        assert_eq!(fs::read(&path).unwrap(), b"ours");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
    }

    #[test]
    fn nothing_is_put_where_others_write_or_over_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let open = folder.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let error = place(&open.join("program"), 0o755, &mut &b"x"[..]).unwrap_err();
        assert!(error.to_string().contains("may be written by other accounts"), "{error}");
        fs::create_dir(folder.path().join("program")).unwrap();
        place(&folder.path().join("program"), 0o755, &mut &b"x"[..]).unwrap_err();
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }

    #[test]
    fn only_empty_folders_below_the_end_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        fs::write(folder.path().join("a/kept"), "").unwrap();
        remove_empty(&deep, folder.path());
        assert!(!folder.path().join("a/b").exists() && folder.path().join("a/kept").exists());
        remove_empty(Path::new("/"), folder.path());
    }
}
