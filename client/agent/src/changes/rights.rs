//! Copies permissions from a replaced file to its replacement, as far as the operating system allows the
//! agent's account.

use std::io;

use cap_std::fs::{File, Metadata};

/// Extended attributes that describe the content itself, or that a write does not preserve.
#[cfg(target_os = "linux")]
const NOT_TAKEN: [&[u8]; 3] = [b"security.capability", b"security.ima", b"security.evm"];
/// Maximum size of the attribute list and of one attribute, in bytes. Larger ones are left out.
#[cfg(target_os = "linux")]
const MAX_ATTRIBUTES: usize = 64 * 1024;

/// Copies owner, mode and extended attributes with access lists. `old_metadata` is the checked state of
/// `old`.
#[cfg(unix)]
pub(super) fn take_over(
    file: &File,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(unused_variables, reason = "attributes are taken over on Linux alone")
    )]
    old: &File,
    old_metadata: &Metadata,
) -> io::Result<()> {
    use cap_fs_ext::OsMetadataExt;
    use rustix::fs::{Gid, Uid, fchmod, fchown};

    let new = file.metadata()?;
    let (uid, gid) = (old_metadata.uid(), old_metadata.gid());
    let mut mode = old_metadata.mode() & 0o777;
    if (new.uid(), new.gid()) != (uid, gid)
        && fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid))).is_err()
        && (new.gid() == gid || fchown(file, None, Some(Gid::from_raw(gid))).is_err())
        && new.gid() != gid
    {
        // The new group never had the rights of the old group.
        mode &= 0o707;
    } else {
        #[cfg(target_os = "linux")]
        take_over_attributes(file, old);
    }
    fchmod(file, permissions(mode)).map_err(io::Error::from)
}

/// Copies the part of the mode that the file system supports.
#[cfg(not(unix))]
pub(super) fn take_over(file: &File, _: &File, old_metadata: &Metadata) -> io::Result<()> {
    file.set_permissions(old_metadata.permissions())
}

/// Copies the mode alone, for a copy that belongs to its creator.
#[cfg(unix)]
pub(super) fn take_over_mode(file: &File, like: &Metadata) -> io::Result<()> {
    use cap_fs_ext::OsMetadataExt;
    rustix::fs::fchmod(file, permissions(like.mode())).map_err(io::Error::from)
}

/// Returns the permission bits of a mode, whose type differs between systems, without set-user-ID and set-group-ID.
#[cfg(unix)]
pub(crate) fn permissions(mode: u32) -> rustix::fs::Mode {
    rustix::fs::Mode::from_raw_mode((mode & 0o777) as rustix::fs::RawMode)
}

#[cfg(not(unix))]
pub(super) fn take_over_mode(file: &File, like: &Metadata) -> io::Result<()> {
    file.set_permissions(like.permissions())
}

/// Skips what the file system does not support and what the agent may not set.
#[cfg(target_os = "linux")]
fn take_over_attributes(file: &File, old: &File) {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};

    // Most files have no attributes; then one system call suffices.
    let mut names = vec![0_u8; 1024];
    let mut length = flistxattr(old, &mut *names);
    if length == Err(rustix::io::Errno::RANGE) {
        names.resize(MAX_ATTRIBUTES, 0);
        length = flistxattr(old, &mut *names);
    }
    let names = length.ok().and_then(|length| names.get(..length)).unwrap_or_default();
    let mut value = Vec::new();
    for name in names.split(|byte| *byte == 0) {
        if name.is_empty() || NOT_TAKEN.contains(&name) {
            continue;
        }
        value.resize(MAX_ATTRIBUTES, 0);
        let taken = fgetxattr(old, name, &mut *value).map(|length| {
            fsetxattr(file, name, value.get(..length).unwrap_or_default(), XattrFlags::empty())
        });
        if !matches!(taken, Ok(Ok(()))) {
            tracing::debug!("an extended attribute of a file was not taken over");
        }
    }
}
