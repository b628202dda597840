//! Puts files in place whole, in folders that no other account can write, and removes them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use orion_mtls::secret_file;

use super::ServiceError;
#[cfg(windows)]
use crate::access::{Fault, Others, fault_at};
use crate::config::files_of_an_upgrade;
use crate::owner_file::remove;

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
    let mut staging = Staging::begin(path, mode)?;
    io::copy(content, &mut staging.file).map_err(ServiceError::at(path))?;
    staging.close()?.place()
}

/// A file that is being written beside the name that it will have. Dropped, it is removed.
#[derive(Debug)]
pub(super) struct Staging {
    file: fs::File,
    #[cfg_attr(
        windows,
        expect(dead_code, reason = "there, a file has the access list of its folder")
    )]
    mode: u32,
    staged: Staged,
}

/// A whole file beside the name that it will have. Dropped, it is removed.
#[derive(Debug)]
pub(super) struct Staged {
    new: PathBuf,
    path: PathBuf,
}

impl Staging {
    /// Begins a file that will get this name and this mode.
    pub(super) fn begin(path: &Path, mode: u32) -> Result<Self, ServiceError> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(ServiceError::at(folder))?;
        refuse_others_folder(folder)?;
        let [new, ..] = files_of_an_upgrade(path);
        let open = || {
            remove(&new)?;
            secret_file::private().write(true).create_new(true).open(&new)
        };
        let file = open().map_err(ServiceError::at(path))?;
        Ok(Self { file, mode, staged: Staged { new, path: path.to_owned() } })
    }

    /// Returns the open file, and its path for messages.
    pub(super) fn parts(&mut self) -> (&mut fs::File, &Path) {
        (&mut self.file, &self.staged.new)
    }

    /// Ends the writing. The file has its mode and is on the disk afterwards.
    pub(super) fn close(self) -> Result<Staged, ServiceError> {
        let finish = || {
            #[cfg(unix)]
            self.file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(self.mode))?;
            self.file.sync_all()
        };
        finish().map_err(ServiceError::at(&self.staged.path))?;
        Ok(self.staged)
    }
}

impl Staged {
    /// Returns where the file is.
    pub(super) fn staged_at(&self) -> &Path {
        &self.new
    }

    /// Gives the file its name.
    pub(super) fn place(self) -> Result<Placed, ServiceError> {
        let (new, path) = (&self.new, &self.path);
        let [_, before, ..] = files_of_an_upgrade(path);
        let moved = || {
            remove(&before)?;
            let there = fs::symlink_metadata(path);
            if there.as_ref().is_ok_and(fs::Metadata::is_dir) {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            let before = there.is_ok().then_some(&before);
            if let Some(before) = before {
                set_aside(path, before)?;
            }
            match (fs::rename(new, path), before) {
                (Ok(()), before) => Ok(before.cloned()),
                (Err(error), None) => Err(error),
                (Err(error), Some(before)) => {
                    fs::rename(before, path)?;
                    // Where both were names of one file, nothing was renamed.
                    remove(before)?;
                    Err(error)
                }
            }
        };
        let before = moved().map_err(ServiceError::at(path))?;
        Ok(Placed { path: path.clone(), before })
    }
}

/// Gives a file a second name, so that the first leads to a whole file at every moment. Not every file may have one.
#[cfg(unix)]
fn set_aside(path: &Path, before: &Path) -> io::Result<()> {
    fs::hard_link(path, before).or_else(|_| fs::rename(path, before))
}

/// Gives a file another name. A program that runs may be renamed on Windows, and not be replaced.
#[cfg(windows)]
fn set_aside(path: &Path, before: &Path) -> io::Result<()> {
    fs::rename(path, before)
}

/// Gives a file the name of another one, which is removed.
#[cfg(unix)]
pub(super) fn take_place(file: &Path, path: &Path) -> io::Result<()> {
    fs::rename(file, path)
}

/// Gives a file the name of another one, which is removed. Where it is a program that runs, it gets another name, and the
/// next change of this program removes it.
#[cfg(windows)]
pub(super) fn take_place(file: &Path, path: &Path) -> io::Result<()> {
    let [aside, ..] = files_of_an_upgrade(path);
    remove(&aside)?;
    match fs::rename(path, &aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    fs::rename(file, path).inspect_err(|_| drop(fs::rename(&aside, path)))?;
    drop(remove(&aside));
    Ok(())
}

impl Drop for Staged {
    fn drop(&mut self) {
        // What stays does no harm, and the next installation removes it. After `place` there is nothing.
        drop(remove(&self.new));
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
    pub(super) fn undo(self) -> Result<(), ServiceError> {
        let undone = match self.before {
            Some(before) => take_place(&before, &self.path),
            None => remove(&self.path).map(drop),
        };
        undone.map_err(ServiceError::at(&self.path))
    }
}

/// Refuses a folder, links resolved, in which another account than this one and root could replace a file or the folder
/// itself.
#[cfg(unix)]
fn refuse_others_folder(folder: &Path) -> Result<(), ServiceError> {
    use std::os::unix::fs::MetadataExt as _;

    const OTHERS_WRITE: u32 = 0o002;
    const GROUP_WRITES: u32 = 0o020;
    const STICKY: u32 = 0o1000;
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

/// Refuses a folder in which another account than this one, the system and administrators could replace a file or the
/// folder itself.
#[cfg(windows)]
pub(super) fn refuse_others_folder(folder: &Path) -> Result<(), ServiceError> {
    for (depth, above) in folder.ancestors().enumerate() {
        // Above, others may add what they like.
        refuse_others(above, if depth == 0 { Others::Read } else { Others::Add })?;
    }
    Ok(())
}

/// Refuses a file or folder with which others than this account, the system and administrators may do more than this.
#[cfg(windows)]
pub(super) fn refuse_others(path: &Path, others: Others) -> Result<(), ServiceError> {
    let refuse = |why, fix| Err(ServiceError::Distrusted { path: path.to_owned(), why, fix });
    match fault_at(path, others) {
        None => Ok(()),
        Some(Fault::Owner) => refuse(
            "belongs to another account",
            "give it to this one, or to Administrators, with icacls /setowner",
        ),
        Some(Fault::NoList | Fault::Rights) => refuse(
            "may be used by other accounts",
            "take that away with icacls, or in its properties under Security",
        ),
    }
}

/// Returns whether a program is a file of its own that no other account than this one and root could have put there or
/// changed.
#[cfg(unix)]
pub(super) fn is_trusted_program(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    const OTHERS_WRITE: u32 = 0o022;
    let me = rustix::process::geteuid().as_raw();
    let is_trusted = |found: fs::Metadata| {
        found.is_file() && [0, me].contains(&found.uid()) && found.mode() & OTHERS_WRITE == 0
    };
    fs::symlink_metadata(path).is_ok_and(is_trusted)
        && path.parent().is_some_and(|folder| refuse_others_folder(folder).is_ok())
}

/// Returns whether a program is a file of its own that no other account than this one, the system and administrators could
/// have put there or changed.
#[cfg(windows)]
pub(super) fn is_trusted_program(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
        && refuse_others(path, Others::Read).is_ok()
        && path.parent().is_some_and(|folder| refuse_others_folder(folder).is_ok())
}

/// Removes the folder and the empty folders above it, below `end`. Folders with something in them stay.
pub(super) fn remove_empty(folder: &Path, end: &Path) {
    for folder in folder.ancestors() {
        if folder == end || !folder.starts_with(end) || fs::remove_dir(folder).is_err() {
            break;
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_file_is_put_in_place_whole_and_taken_back_to_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bin/program");
        place(&path, 0o755, &mut &b"one"[..]).unwrap().keep();
        let placed = place(&path, 0o755, &mut &b"two"[..]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o755);
        placed.undo().unwrap();
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
