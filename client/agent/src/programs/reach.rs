//! What one program reaches of the granted folders, as open handles.

use std::collections::VecDeque;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use orion_domain::{Access, Actor, DevicePath, ErrorCode, Hint, RiskRaise, ToolError};
use rustix::fs::{FileType, Mode, OFlags, openat};

use super::{Programs, system};
use crate::call::{Context, RiskGate};
use crate::roots::{FileKind, Located, Roots, Search, Wanted, io_failure};
use crate::sandbox::Rights;

/// The most handles that a program gets. The kernel sends 253 at once; one is the folder to start in, one the
/// folder for temporary files.
const MAX_GIVEN: usize = 240;
/// Folders of a project with the code of others, in which names of secrets are those of examples. They are not
/// looked into for a program that runs the project's own code.
const OF_OTHERS: &[&str] = &["node_modules", "target", ".venv", "venv", "vendor", ".git"];

/// Everything that a program reaches.
#[derive(Debug)]
pub(crate) struct Reached {
    granted: Vec<(OwnedFd, Rights)>,
    folder: OwnedFd,
}

/// A file or folder that a program consists of.
#[derive(Debug)]
pub(crate) struct Code {
    /// The file or folder.
    pub(crate) handle: OwnedFd,
    /// Its real path.
    pub(crate) real: DevicePath,
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
    const fn rights(self, deletes: bool) -> Rights {
        match (self, deletes) {
            (Self::Read, _) => Rights::Read,
            (Self::Change, true) => Rights::Change,
            (Self::Change, false) => Rights::Write,
            (Self::Code, true) => Rights::ChangeAndExecute,
            (Self::Code, false) => Rights::WriteAndExecute,
        }
    }
}

impl Reached {
    /// Adds a folder of the call's own.
    pub(crate) fn extend(&mut self, own: Option<OwnedFd>) {
        self.add(own.map(|own| (own, Rights::ChangeAndExecute)));
    }

    /// Adds what the program gets besides.
    pub(crate) fn add(&mut self, more: impl IntoIterator<Item = (OwnedFd, Rights)>) {
        self.granted.extend(more);
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
    let roots = context.roots;
    let access = if how == Use::Read { Access::Read } else { Access::Write };
    let here = roots.locate(folder, access)?.folder()?;
    let start = here.dir.try_clone();
    let start = start.map_err(|error| io_failure(&error, Wanted::Directory, folder))?;
    let mut given = Giving {
        roots,
        search: Search::new(roots, if how == Use::Code { OF_OTHERS } else { &[] }),
        granted: system::handles(programs.home.as_deref(), roots).collect(),
        grounds: Vec::new(),
        risk,
    };
    let deletes = |located: &Located| roots.grants(&located.real, Access::Delete);
    given.place(&here, how.rights(deletes(&here)))?;
    for (path, access) in paths {
        let place = match roots.locate(path, *access) {
            // The program says that the path is missing, and for what it took it.
            Err(error) if is_missing(&error) => continue,
            found => found?,
        };
        // What a program reads, it gets no other right on, whatever it does elsewhere.
        let how = if *access == Access::Read { Use::Read } else { how };
        given.place(&place, how.rights(deletes(&place)))?;
    }
    Ok(Reached { granted: given.granted, folder: OwnedFd::from(start.into_std_file()) })
}

/// Returns what the program of a custom tool reaches: the folder that it starts in for reading, each path as it is
/// declared, its code, and what any program needs of the system.
///
/// # Errors
/// As [`reach`].
pub(crate) fn reach_declared(
    programs: &Programs,
    roots: &Roots,
    risk: &RiskGate,
    (folder, paths): (&DevicePath, &[(DevicePath, Access)]),
    code: Vec<Code>,
) -> Result<Reached, ToolError> {
    let here = roots.locate(folder, Access::Read)?.folder()?;
    let start = here.dir.try_clone();
    let start = start.map_err(|error| io_failure(&error, Wanted::Directory, folder))?;
    let mut given = Giving {
        roots,
        search: Search::new(roots, &[]),
        granted: system::handles(programs.home.as_deref(), roots).collect(),
        grounds: Vec::new(),
        risk,
    };
    given.exactly(&here, Rights::Read)?;
    for (path, access) in paths {
        let wanted = if *access == Access::Read { Access::Read } else { Access::Write };
        let place = match roots.locate(path, wanted) {
            Err(error) if is_missing(&error) => continue,
            found => found?,
        };
        if wanted == Access::Write {
            raise_if_starting(&place, path, risk)?;
        }
        let rights = match access {
            Access::Read => Rights::Read,
            Access::Delete if roots.grants(&place.real, Access::Delete) => Rights::Change,
            Access::Write | Access::Delete | Access::Execute => Rights::Write,
        };
        given.exactly(&place, rights)?;
    }
    for code in code {
        given.code(code)?;
    }
    Ok(Reached { granted: given.granted, folder: OwnedFd::from(start.into_std_file()) })
}

/// Raises the risk of a call whose program writes to what starts programs, also by a link to it.
fn raise_if_starting(place: &Located, path: &DevicePath, risk: &RiskGate) -> Result<(), ToolError> {
    risk.raise_if_starting_at(place, path)?;
    let real = place.rest.iter().try_fold(place.real.clone(), |path, name| path.join(name));
    // The names of the path itself were evaluated with the call; of a link, those that it leads to were not.
    match real {
        Ok(real) if !is_below(path, &real, &place.root) => risk.raise_if_starting(&real),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns whether a path leads to a real path by its own names below the granted folder, which may be a link.
fn is_below(path: &DevicePath, real: &DevicePath, root: &DevicePath) -> bool {
    let asked: Vec<&str> = path.components().collect();
    real.relative_to(root).is_some_and(|names| asked.ends_with(&names))
}

fn is_missing(error: &ToolError) -> bool {
    use orion_domain::ErrorCode::{DirectoryNotFound, FileNotFound, PathNotFound};
    matches!(error.code, DirectoryNotFound | FileNotFound | PathNotFound)
}

/// What a program was given so far.
struct Giving<'a> {
    roots: &'a Roots,
    search: Search<'a>,
    granted: Vec<(OwnedFd, Rights)>,
    /// The folders that were given, with the rights on each.
    grounds: Vec<(DevicePath, Rights)>,
    risk: &'a RiskGate,
}

impl Giving<'_> {
    /// Gives a program the place of a path: a file that is only read alone, anything else with the folder
    /// around it.
    fn place(&mut self, located: &Located, rights: Rights) -> Result<(), ToolError> {
        if let (Rights::Read, Some(name)) = (rights, located.name()) {
            return match located.found {
                Some(FileKind::File) => self.give(&located.dir, name, rights),
                // A program gets no folder behind a name that was no folder, and no special file.
                Some(FileKind::Folder | FileKind::Link | FileKind::Special) | None => Ok(()),
            };
        }
        let known = |(path, held): &(DevicePath, Rights)| {
            *held == rights && path.may_contain(&located.real)
        };
        if self.grounds.iter().any(known) {
            return Ok(());
        }
        let ground = self.search.ground(located)?;
        self.grounds.push((ground.real.clone(), rights));
        self.folder((&ground.dir, &ground.real), ground.denied.as_ref(), rights)
    }

    /// Gives a program the place of a path and nothing around it: a folder with what is in it, or a file alone.
    /// Where files are made or deleted, that is the folder that holds them.
    fn exactly(&mut self, located: &Located, rights: Rights) -> Result<(), ToolError> {
        if let (Some(name), Some(kind)) = (located.name(), located.found) {
            match kind {
                FileKind::File if rights != Rights::Change => {
                    return self.give(&located.dir, name, rights);
                }
                FileKind::Link | FileKind::Special => return Ok(()),
                FileKind::File | FileKind::Folder => {}
            }
        }
        // Of what is missing, the folder that holds it is given where it is made, and nothing further up.
        if located.found.is_none() && !located.rest.is_empty() {
            if rights == Rights::Read {
                return Ok(());
            }
            if located.rest.len() > 1 {
                return Err(Wanted::Directory.missing(&located.asked));
            }
        }
        let denied = self.search.denied_below(&located.dir, &located.real)?;
        self.folder((&located.dir, &located.real), denied.as_ref(), rights)
    }

    /// Gives a program a part of itself, to read and execute: a file, or a folder without what is denied in it.
    fn code(&mut self, Code { handle, real }: Code) -> Result<(), ToolError> {
        let failed = |error: std::io::Error| io_failure(&error, Wanted::Directory, &real);
        let is_folder = {
            let stat = rustix::fs::fstat(&handle).map_err(|error| failed(error.into()))?;
            FileType::from_raw_mode(stat.st_mode).is_dir()
        };
        if !is_folder {
            self.granted.push((handle, Rights::Execute));
            return Ok(());
        }
        let dir = Dir::from_std_file(std::fs::File::from(handle));
        let denied = self.search.denied_below(&dir, &real)?;
        let given = self.folder((&dir, &real), denied.as_ref(), Rights::Execute);
        match denied {
            Some(denied) if given.as_ref().is_err_and(is_crowded) => Err(crowded(&real, &denied)),
            Some(_) | None => given,
        }
    }

    /// Gives a program a folder: the whole of it, or for reading what is in it but what is denied.
    fn folder(
        &mut self,
        (dir, real): (&Dir, &DevicePath),
        denied: Option<&DevicePath>,
        rights: Rights,
    ) -> Result<(), ToolError> {
        let reads = matches!(rights, Rights::Read | Rights::Execute);
        // A program that changes these could resume, allow and speak as the owner. No approval covers that.
        if !reads && self.roots.hold_own_files(real) {
            return Err(own_files(real));
        }
        match denied {
            None => self.give(dir, ".", rights),
            Some(_) if reads => self.separate(dir, real, rights),
            Some(path) => {
                self.risk.raise(RiskRaise::ReachesDenied, path)?;
                self.give(dir, ".", rights)
            }
        }
    }

    /// Gives a program what is in a folder for reading, one by one, but what is denied. Its names may be
    /// listed. What does not fit among the handles is not given; code is given whole or not at all.
    fn separate(&mut self, dir: &Dir, real: &DevicePath, rights: Rights) -> Result<(), ToolError> {
        let mut folders = VecDeque::from([(open(dir, ".", real)?, real.clone())]);
        while let Some((dir, real)) = folders.pop_front() {
            self.give(&dir, ".", Rights::List)?;
            for entry in dir.entries().into_iter().flatten().flatten() {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let Ok(path) = real.join(&name) else { continue };
                if self.granted.len() >= MAX_GIVEN && rights == Rights::Read {
                    return Ok(());
                }
                if self.search.is_denied(&name, &path) {
                    continue;
                }
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    self.give(&dir, &name, rights)?;
                    continue;
                }
                let Ok(below) = dir.open_dir_nofollow(&*name) else { continue };
                match self.search.denied_below(&below, &path)? {
                    None => self.give(&below, ".", rights)?,
                    Some(_) => folders.push_back((below, path)),
                }
            }
        }
        Ok(())
    }

    /// Gives a program one entry of a folder, or the folder itself. A link is not followed.
    fn give(&mut self, dir: &Dir, name: &str, rights: Rights) -> Result<(), ToolError> {
        if self.granted.len() >= MAX_GIVEN {
            let message = "The command needs more folders than a program can be given.";
            return Err(ToolError::new(ErrorCode::ResourceExhausted, message)
                .hint("name fewer paths, or a folder that holds them"));
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(handle) = openat(dir, name, flags, Mode::empty()) {
            self.granted.push((handle, rights));
        }
        Ok(())
    }
}

fn is_crowded(error: &ToolError) -> bool {
    error.code == ErrorCode::ResourceExhausted
}

/// Returns the error for code of which too much would have to be given one by one.
fn crowded(code: &DevicePath, denied: &DevicePath) -> ToolError {
    let message = format!(
        "{code} is code of the tool and holds {denied}, which is denied, among more entries than can be given without \
         it. Nothing was run."
    );
    ToolError::new(ErrorCode::ResourceExhausted, message)
        .with("attempted_path", denied.to_string())
        .hint(
            Hint::new("move it out of that folder, or name narrower folders as code")
                .by(Actor::Owner),
        )
}

/// Returns the error for a folder with the agent's own files that a program would get to change.
fn own_files(folder: &DevicePath) -> ToolError {
    let message = format!(
        "{folder} holds files of the agent itself, and no program gets to change those. Nothing was run."
    );
    ToolError::new(ErrorCode::PathNotAllowed, message)
        .with("attempted_path", folder.to_string())
        .hint("run the command in a folder further down")
}

fn open(dir: &Dir, name: &str, path: &DevicePath) -> Result<Dir, ToolError> {
    dir.open_dir(name).map_err(|error| io_failure(&error, Wanted::Directory, path))
}

#[cfg(test)]
mod tests;
