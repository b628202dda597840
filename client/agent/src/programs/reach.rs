//! What one program reaches of the granted folders, as open handles.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use cap_std::fs::Dir;
use orion_domain::{Access, DevicePath, RiskRaise, ToolError};
use rustix::fs::{Mode, OFlags, openat};

use super::{Programs, system};
use crate::call::{Context, RiskGate};
use crate::roots::{Ground, Located, Wanted, io_failure};
use crate::sandbox::Rights;

/// The most names of a folder that a program gets one by one, because others beside them are denied.
const MAX_SEPARATE: usize = 120;

/// Everything that a program reaches.
#[derive(Debug)]
pub(crate) struct Reached {
    granted: Vec<(OwnedFd, Rights)>,
    folder: OwnedFd,
}

/// What a program does with the granted folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Reads.
    Read,
    /// Reads and changes.
    Change,
    /// Reads, changes and executes.
    Code,
}

impl Use {
    const fn rights(self) -> Rights {
        match self {
            Self::Read => Rights::Read,
            Self::Change => Rights::Change,
            Self::Code => Rights::ChangeAndExecute,
        }
    }
}

impl Reached {
    /// Adds a folder of the call's own.
    pub(crate) fn extend(&mut self, own: Option<OwnedFd>) {
        self.granted.extend(own.map(|own| (own, Rights::ChangeAndExecute)));
    }

    /// Returns the rights, in the order of the handles.
    pub(crate) fn rights(&self) -> Vec<Rights> {
        self.granted.iter().map(|(_, rights)| *rights).collect()
    }

    /// Returns the handles, the folder to start in last.
    pub(crate) fn handles(&self) -> Vec<BorrowedFd<'_>> {
        let granted = self.granted.iter().map(|(handle, _)| handle.as_fd());
        granted.chain([self.folder.as_fd()]).collect()
    }
}

/// Returns what a program reaches that starts in `folder` and names `paths`.
///
/// # Errors
/// A path that is not granted, or leads to a place that is not. `APPROVAL_REQUIRED` where a program that
/// changes or executes files would reach denied ones, until a person approved that.
pub(crate) fn reach(
    programs: &Programs,
    context: &Context<'_>,
    risk: &RiskGate,
    (folder, paths): (&DevicePath, &[(DevicePath, Access)]),
    how: Use,
) -> Result<Reached, ToolError> {
    let mut granted: Vec<_> = system::handles(programs.home.as_deref()).collect();
    let access = if how == Use::Read { Access::Read } else { Access::Write };
    let here = context.roots.locate(folder, access)?.folder()?;
    let mut grounds: Vec<DevicePath> = Vec::new();
    for (located, how) in places(&here, paths, how, context)? {
        if let (Use::Read, Some(name)) = (how, located.name()) {
            // A file that is only read is given alone, and one that is missing is not given.
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            if let Ok(file) = openat(&located.dir, name, flags, Mode::empty()) {
                granted.push((file, Rights::Read));
            }
            continue;
        }
        let ground = context.roots.ground(&located)?;
        if grounds.iter().any(|known| known.may_contain(&ground.real)) {
            continue;
        }
        grounds.push(ground.real.clone());
        give(&ground, how, risk, &mut granted)?;
    }
    let start = here.dir.try_clone();
    let start = start.map_err(|error| io_failure(&error, Wanted::Directory, folder))?;
    Ok(Reached { granted, folder: OwnedFd::from(start.into_std_file()) })
}

/// Returns where a program acts: the folder that it starts in, then each path that it names.
fn places(
    here: &Located,
    paths: &[(DevicePath, Access)],
    how: Use,
    context: &Context<'_>,
) -> Result<Vec<(Located, Use)>, ToolError> {
    let mut places = vec![(context.roots.locate(&here.asked, Access::Read)?, how)];
    for (path, access) in paths {
        let place = match context.roots.locate(path, *access) {
            // The program says that the path is missing, and for what it took it.
            Err(error) if is_missing(&error) => continue,
            found => found?,
        };
        let how = if *access == Access::Read && how != Use::Code { Use::Read } else { how };
        places.push((place, how));
    }
    Ok(places)
}

fn is_missing(error: &ToolError) -> bool {
    use orion_domain::ErrorCode::{DirectoryNotFound, FileNotFound, PathNotFound};
    matches!(error.code, DirectoryNotFound | FileNotFound | PathNotFound)
}

/// Gives a program a folder: the whole of it, or for reading what is in it but what is denied.
fn give(
    ground: &Ground,
    how: Use,
    risk: &RiskGate,
    granted: &mut Vec<(OwnedFd, Rights)>,
) -> Result<(), ToolError> {
    let Ground { real, dir, denied } = ground;
    let failed = |error: &std::io::Error| io_failure(error, Wanted::Directory, real);
    if let (Some(name), Use::Change | Use::Code) = (denied.first(), how) {
        risk.raise(RiskRaise::ReachesDenied, &real.join(name).unwrap_or_else(|_| real.clone()))?;
    }
    if denied.is_empty() || how != Use::Read {
        let whole = dir.try_clone().map_err(|error| failed(&error))?;
        granted.push((OwnedFd::from(whole.into_std_file()), how.rights()));
        return Ok(());
    }
    // Its names may be listed; what is in the denied ones may not be read.
    let names = dir.try_clone().map_err(|error| failed(&error))?;
    granted.push((OwnedFd::from(names.into_std_file()), Rights::List));
    let entries = dir.open_dir(".").and_then(|dir: Dir| dir.entries());
    let names = entries.map_err(|error| failed(&error))?.filter_map(|entry| {
        let name = entry.ok()?.file_name();
        (!denied.iter().any(|it| name.to_string_lossy() == *it)).then_some(name)
    });
    for name in names.take(MAX_SEPARATE) {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(entry) = openat(dir, &name, flags, Mode::empty()) {
            granted.push((entry, Rights::Read));
        }
    }
    Ok(())
}
