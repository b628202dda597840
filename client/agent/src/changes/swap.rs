//! Atomic renames: to a free name, and as an exchange of two names.

use std::io;

use cap_std::fs::Dir;

/// Renames an entry to a name that must be free.
pub(super) fn rename_new(from: &Dir, name: &str, to: &Dir, new: &str) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        if !swap_is_off() {
            match renameat_with(from, name, to, new, RenameFlags::NOREPLACE) {
                Err(error) if is_unsupported(error) => {}
                done => return Ok(done?),
            }
        }
    }
    rename_new_by_link(from, name, to, new)
}

/// As [`rename_new`], for file systems without that operation: a link never replaces an existing name. An
/// entry that cannot have two names, such as a folder, leaves a gap between check and rename.
fn rename_new_by_link(from: &Dir, name: &str, to: &Dir, new: &str) -> io::Result<()> {
    match from.hard_link(name, to, new) {
        Ok(()) => return from.remove_file(name),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::AlreadyExists
                    | io::ErrorKind::NotFound
                    | io::ErrorKind::CrossesDevices
            ) =>
        {
            return Err(error);
        }
        Err(_) => {}
    }
    match to.symlink_metadata(new) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => from.rename(name, to, new),
        Err(error) => Err(error),
    }
}

/// Exchanges the names of two entries. Returns false if the file system does not support it.
pub(super) fn exchange(one: &Dir, name: &str, other: &Dir, name2: &str) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        if swap_is_off() {
            return Ok(false);
        }
        match renameat_with(one, name, other, name2, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(error) if is_unsupported(error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (one, name, other, name2);
        Ok(false)
    }
}

#[cfg(target_os = "linux")]
fn is_unsupported(error: rustix::io::Errno) -> bool {
    use rustix::io::Errno;
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

/// Syncs the names in a folder to the disk. The change is made whatever the result; without the sync a power
/// cut could revert it.
pub(super) fn sync(dir: &Dir) {
    #[cfg(unix)]
    if let Err(error) = dir.open(".").and_then(|dir| dir.sync_all()) {
        tracing::debug!(kind = %error.kind(), "a folder could not be brought to the disk");
    }
    #[cfg(not(unix))]
    let _ = dir;
}

#[cfg(test)]
thread_local! {
    /// Disables the exchange, for tests of the fallback.
    pub(crate) static NO_SWAP: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[cfg(target_os = "linux")]
fn swap_is_off() -> bool {
    #[cfg(test)]
    return NO_SWAP.get();
    #[cfg(not(test))]
    false
}
