//! One system call from a handle to a folder below it. The kernel itself refuses everything that could
//! lead elsewhere: links of any kind, `..`, other file systems. A refused path is walked name by name
//! instead, where links that stay inside are followed and errors get their messages.

use cap_std::fs::Dir;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

/// A folder is opened with `O_PATH`, which needs no permission to list it.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const NO_LINKS: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);

/// Opens the folder at `names` below `dir`, if nothing on the way is a link or another mount.
pub(super) fn open(dir: &Dir, names: &[&str]) -> Option<Dir> {
    let resolve = NO_LINKS.union(ResolveFlags::BENEATH).union(ResolveFlags::NO_XDEV);
    let opened = openat2(dir, names.join("/"), FOLDER, Mode::empty(), resolve);
    opened.ok().map(|fd| Dir::from_std_file(fd.into()))
}

/// Opens the folder at an absolute path, if nothing on the way is a link.
///
/// # Errors
/// The kernel's error; `ENOSYS` or `EPERM` if this process cannot use `openat2`.
pub(super) fn open_absolute(path: &str) -> Result<Dir, Errno> {
    openat2(CWD, path, FOLDER, Mode::empty(), NO_LINKS).map(|fd| Dir::from_std_file(fd.into()))
}

/// Returns whether this process can use `openat2`.
pub(crate) fn is_there() -> bool {
    open_absolute("/").is_ok()
}
