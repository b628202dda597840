//! The account of the system's service, and the files that belong to it.

#[cfg(target_os = "linux")]
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::process::{Gid, Uid};

use super::ServiceError;
use super::layout::{ACCOUNT, Layout, system_locations};
use crate::process::{SystemProgram, SystemProgramError};
use crate::state::names::TRASH;

/// An account of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Account {
    uid: u32,
    gid: u32,
}

/// Makes the account, unless it is there, and gives it the state. Returns whether it was made.
pub(super) async fn prepare(layout: &Layout) -> Result<bool, ServiceError> {
    let (account, is_new) = find_or_create(&layout.state_dir).await?;
    give(&layout.state_dir, account)?;
    keep_for_root(&layout.config)?;
    Ok(is_new)
}

/// Returns the account. An admin makes it: macOS has no tool that makes such an account the same way in every version.
#[cfg(target_os = "macos")]
async fn find_or_create(_: &Path) -> Result<(Account, bool), ServiceError> {
    find().await?.map(|found| (found, false)).ok_or(ServiceError::NoAccount)
}

/// Leaves the account, which an admin made.
#[cfg(target_os = "macos")]
pub(super) async fn remove(_: &Path) -> Result<bool, ServiceError> {
    Ok(false)
}

/// Returns the account, and whether it was made for this.
#[cfg(target_os = "linux")]
async fn find_or_create(home: &Path) -> Result<(Account, bool), ServiceError> {
    if let Some(found) = find().await? {
        return Ok((found, false));
    }
    let shell = Path::new("/usr/sbin/nologin");
    let shell = if shell.exists() { shell } else { Path::new("/bin/false") };
    let words = [
        OsStr::new("--system"),
        OsStr::new("--user-group"),
        OsStr::new("--no-create-home"),
        OsStr::new("--home-dir"),
        home.as_os_str(),
        OsStr::new("--shell"),
        shell.as_os_str(),
        OsStr::new(ACCOUNT),
    ];
    program("useradd")?.run(&words).await?;
    let made = find().await?.ok_or_else(|| missing("id", ACCOUNT))?;
    Ok((made, true))
}

/// Removes the account that was made with this home. Another one of the same name stays.
#[cfg(target_os = "linux")]
pub(super) async fn remove(home: &Path) -> Result<bool, ServiceError> {
    if find().await?.is_none() {
        return Ok(false);
    }
    let entry = program("getent")?.run(&["passwd", ACCOUNT]).await?;
    if entry.split(':').nth(5).map(Path::new) != Some(home) {
        return Ok(false);
    }
    program("userdel")?.run(&[ACCOUNT]).await?;
    Ok(true)
}

async fn find() -> Result<Option<Account>, ServiceError> {
    let id = program("id")?;
    let number = async |which: &str| id.run(&[which, ACCOUNT]).await.ok()?.parse::<u32>().ok();
    let (Some(uid), Some(gid)) = (number("-u").await, number("-g").await) else { return Ok(None) };
    // A service that confines itself is not to run as root, whatever the account is called.
    if uid == 0 {
        Err(missing("id", "an account other than root").into())
    } else {
        Ok(Some(Account { uid, gid }))
    }
}

fn program(name: &str) -> Result<SystemProgram, SystemProgramError> {
    SystemProgram::find(name).ok_or_else(|| missing(name, "that program"))
}

fn missing(command: &str, what: &str) -> SystemProgramError {
    SystemProgramError::Failed {
        command: command.to_owned(),
        said: format!("{what} is not on this system"),
    }
}

/// Gives what root wrote in the state folder to the account that has the folder.
///
/// # Errors
/// [`ServiceError::Io`].
pub fn give_to_owner(state_dir: &Path) -> Result<(), ServiceError> {
    use std::os::unix::fs::MetadataExt as _;
    let folder = fs::metadata(state_dir).map_err(ServiceError::at(state_dir))?;
    let account = Account { uid: folder.uid(), gid: folder.gid() };
    if account.uid == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    give(state_dir, account)
}

/// Gives a folder and what is in it to the account, where it is of the one who had the folder, and what root wrote
/// directly in it. The trash may hold files of anybody's, also of root's. No link is followed, and a file with a second
/// name stays as it is: its other name may be anywhere.
fn give(folder: &Path, account: Account) -> Result<(), ServiceError> {
    let open =
        openat(CWD, folder, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
    open.map_err(io::Error::from)
        .and_then(|open| {
            let had = fstat(&open)?.st_uid;
            give_open(&open, account, &[had, 0])
        })
        .map_err(ServiceError::at(folder))
}

/// Gives a folder, and what is in it of these accounts. Of the first one, also what is deeper.
fn give_open(folder: &OwnedFd, account: Account, of: &[u32]) -> io::Result<()> {
    let (owner, group) = (Some(Uid::from_raw(account.uid)), Some(Gid::from_raw(account.gid)));
    rustix::fs::fchown(folder, owner, group)?;
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let is_ours = |found: &Stat| match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => true,
            FileType::RegularFile => found.st_nlink == 1,
            FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => false,
        };
        if !is_ours(&statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?) {
            continue;
        }
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(folder, name, flags, Mode::empty())?;
        // The open file is checked, because another one may have its name by now.
        let found = fstat(&file)?;
        if !is_ours(&found) || !of.contains(&found.st_uid) {
            continue;
        }
        let had = &of[..1];
        let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        let is_roots_trash = had == [0] && name.to_bytes() == TRASH.as_bytes();
        if is_folder && had != [account.uid] && !is_roots_trash {
            give_open(&file, account, had)?;
        } else {
            rustix::fs::fchown(&file, owner, group)?;
        }
    }
    Ok(())
}

/// Lets every account read the owner's file in its usual place, and root alone write it.
///
/// # Errors
/// [`ServiceError::Io`].
pub fn keep_for_root(config: &Path) -> Result<(), ServiceError> {
    use std::os::unix::fs::PermissionsExt as _;
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(ServiceError::at(path))
    };
    if system_locations().is_none_or(|(usual, _)| usual != config) || !config.exists() {
        return Ok(());
    }
    if let Some(folder) = config.parent() {
        set(folder, 0o755)?;
    }
    set(config, 0o644)
}
