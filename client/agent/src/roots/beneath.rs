//! One system call from a handle to a folder below it. The kernel itself refuses what would make the
//! way lead elsewhere: links of any kind, `..`, other file systems. Whatever it refuses is walked
//! name by name instead, where links that stay inside are followed and errors get their words.

use cap_std::fs::Dir;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

/// A folder is held as a place, which asks for no right to list it.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const NO_LINKS: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);

/// The folder at `names` below `dir`, if nothing on the way is a link or another mount.
pub(super) fn open(dir: &Dir, names: &[&str]) -> Option<Dir> {
    let resolve = NO_LINKS.union(ResolveFlags::BENEATH).union(ResolveFlags::NO_XDEV);
    let opened = openat2(dir, names.join("/"), FOLDER, Mode::empty(), resolve);
    opened.ok().map(|fd| Dir::from_std_file(fd.into()))
}

/// The folder at an absolute path, if nothing on the way is a link.
///
/// # Errors
/// What the kernel says; `ENOSYS` or `EPERM` where it has no `openat2` for this process.
pub(super) fn open_absolute(path: &str) -> Result<Dir, Errno> {
    openat2(CWD, path, FOLDER, Mode::empty(), NO_LINKS).map(|fd| Dir::from_std_file(fd.into()))
}

/// Whether this kernel lets this process do so.
pub(crate) fn is_there() -> bool {
    open_absolute("/").is_ok()
}
