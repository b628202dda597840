//! Stops the service and removes what `install` made; with the owner's word also the device's identity and state.

use std::fs;
use std::path::{Path, PathBuf};

use super::files::remove_empty;
use super::{Layout, Manager, Owner, ServiceError, account};
use crate::config::{default_locations, files_of_an_upgrade};
use crate::owner_file::remove;
use crate::state::{State, StateError, files};

/// How often what appears in the state folder during a removal is removed as well.
const REMOVAL_TRIES: u32 = 5;
/// What happens to the device's state: its key and identity, its journal, audit log and trash, and `agent.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purge {
    /// It stays, and a later installation goes on with it.
    Keep,
    /// It is removed for good.
    State,
}

/// What was removed, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// Files and folders.
    pub paths: Vec<PathBuf>,
    /// The state folder, where it stays: it holds files that are not Orion's, or cannot be removed itself.
    pub stays: Option<PathBuf>,
    /// Whether the account of the service was removed.
    pub account: bool,
}

/// A state folder with the state of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFolder {
    /// A link that leads to it.
    pub link: Option<PathBuf>,
    /// The folder itself.
    pub folder: PathBuf,
    /// Whether it also holds files that are not Orion's.
    pub has_others: bool,
}

impl StateFolder {
    /// Finds it. None where there is nothing under this path, or an empty folder.
    ///
    /// # Errors
    /// [`ServiceError::NotState`] for a folder of somebody else.
    pub fn find(path: &Path) -> Result<Option<Self>, ServiceError> {
        if !path.exists() {
            return Ok(None);
        }
        let is_link = path.symlink_metadata().is_ok_and(|it| it.is_symlink());
        let (link, folder) = if is_link {
            (Some(path.to_owned()), fs::canonicalize(path).map_err(ServiceError::at(path))?)
        } else {
            (None, path.to_owned())
        };
        if fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_none()) {
            return Ok(None);
        }
        if !files::is_state(&folder) {
            return Err(ServiceError::NotState { path: path.to_owned() });
        }
        Ok(Some(Self { has_others: files::has_others(&folder), link, folder }))
    }

    /// Locks it: no agent may be using it, and one that was started by hand is not stopped with the service.
    fn lock(&self) -> Result<State, ServiceError> {
        State::open(&self.folder).map_err(|error| match error {
            StateError::Busy { path } => ServiceError::InUse { path },
            error @ (StateError::TooOpen { .. }
            | StateError::NotPrivate { .. }
            | StateError::Damaged { .. }
            | StateError::Io { .. }
            | StateError::Secret(_)
            | StateError::Identity(_)) => error.into(),
        })
    }
}

/// Stops and removes the service. What is not there is passed over, so that it can be run again.
///
/// # Errors
/// [`ServiceError`], for the step that failed. Where the state cannot be removed, the program stays.
pub async fn uninstall(
    layout: &Layout,
    manager: &Manager,
    purge: Purge,
) -> Result<Removed, ServiceError> {
    let mut removed = Removed::default();
    let state = match purge {
        Purge::State => StateFolder::find(&layout.state_dir)?,
        Purge::Keep => None,
    };
    let earlier = manager.earlier(layout)?;
    if earlier.is_some() {
        manager.stop(layout).await?;
    }
    // The program goes last: it removes the rest when it is run again.
    if let Some(state) = state {
        let lock = state.lock()?;
        removed.state(state, lock)?;
    } else if purge == Purge::State && layout.state_dir.exists() {
        removed.folder(layout.state_dir.clone());
    }
    if let Some(earlier) = earlier {
        if earlier.has_copied {
            removed.program(&layout.program)?;
        }
        if manager.remove(layout).await? {
            removed.paths.push(layout.unit.clone());
        }
    }
    for left in files_of_an_upgrade(&layout.program) {
        removed.file(&left)?;
    }
    if purge == Purge::State {
        removed.file(&layout.config)?;
        if layout.owner == Owner::System {
            // A later account could get the number of this one, and with it the files that stay.
            if removed.stays.is_none() {
                removed.account = account::remove(&layout.state_dir).await?;
            }
            // The folder of the owner's file, which `enroll` made.
            layout.config.parent().into_iter().for_each(|folder| drop(fs::remove_dir(folder)));
        }
    }
    #[cfg(any(target_os = "macos", windows))]
    if layout.owner == Owner::System {
        // The folder of the program is Orion's own.
        layout.program.parent().into_iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
    if let (Owner::Person, Some(base)) = (layout.owner, directories::BaseDirs::new()) {
        // Folders above those that the person named are the person's.
        let (config, state) = default_locations().unzip();
        let usual = [(&layout.state_dir, state), (&layout.config, config)];
        let usual = usual.into_iter().filter(|(path, usual)| usual.as_ref() == Some(*path));
        let usual = usual.map(|(path, _)| path);
        for path in [&layout.program, &layout.unit].into_iter().chain(usual) {
            path.parent().into_iter().for_each(|folder| remove_empty(folder, base.home_dir()));
        }
    }
    Ok(removed)
}

impl Removed {
    fn file(&mut self, path: &Path) -> Result<(), ServiceError> {
        if remove(path).map_err(ServiceError::at(path))? {
            self.paths.push(path.to_owned());
        }
        Ok(())
    }

    #[cfg(unix)]
    fn program(&mut self, path: &Path) -> Result<(), ServiceError> {
        self.file(path)
    }

    /// Removes the program, also where it is this one, which Windows does not remove while it runs.
    #[cfg(windows)]
    fn program(&mut self, path: &Path) -> Result<(), ServiceError> {
        let is_this = std::env::current_exe()
            .and_then(|current| Ok(fs::canonicalize(current)? == fs::canonicalize(path)?));
        if is_this.unwrap_or(false) {
            self_replace::self_delete().map_err(ServiceError::at(path))?;
            self.paths.push(path.to_owned());
            return Ok(());
        }
        self.file(path)
    }

    /// Removes an empty folder, and returns whether it did. It stays where it holds other files, and where others have
    /// mounted it or keep its name.
    fn folder(&mut self, folder: PathBuf) -> bool {
        let is_gone = fs::remove_dir(&folder).is_ok();
        if is_gone {
            self.paths.push(folder);
        } else {
            self.stays = Some(folder);
        }
        is_gone
    }

    /// Removes what Orion keeps in the folder of the state, and the folder if nothing else is in it.
    fn state(&mut self, found: StateFolder, lock: State) -> Result<(), ServiceError> {
        let StateFolder { link, folder, .. } = found;
        let failed = || ServiceError::at(&folder);
        // A command that watches may write a file at the same time.
        for _ in 0..REMOVAL_TRIES {
            files::remove(&folder).map_err(failed())?;
            if files::holds_lock_alone(&folder) {
                break;
            }
        }
        // On Windows, a folder with an open file stays.
        lock.remove_lock();
        if let (true, Some(link)) = (self.folder(folder), link) {
            // On Windows, a link to a folder is removed as a folder.
            let gone = if cfg!(windows) { fs::remove_dir(&link) } else { fs::remove_file(&link) };
            gone.map_err(ServiceError::at(&link))?;
            self.paths.push(link);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::names::{CERTIFICATE, IDENTITY, JOURNAL, KEY};

    /// Puts what an agent that ran leaves into a folder.
    fn ran(folder: &Path) {
        let state = State::open(folder).unwrap();
        state.next_generation().unwrap();
        for name in [JOURNAL, KEY, CERTIFICATE, IDENTITY] {
            fs::write(state.path(name), "").unwrap();
        }
    }

    fn purge(path: &Path) -> Result<Removed, ServiceError> {
        let mut removed = Removed::default();
        let found = StateFolder::find(path)?.unwrap();
        let lock = found.lock()?;
        removed.state(found, lock)?;
        Ok(removed)
    }

    #[test]
    fn a_state_folder_goes_whole_and_one_with_other_files_stays_with_them() {
        let base = tempfile::tempdir().unwrap();
        let (own, mixed) = (base.path().join("own"), base.path().join("mixed"));
        ran(&own);
        ran(&mixed);
        fs::write(mixed.join("thesis.tex"), "mine").unwrap();
        let removed = purge(&own).unwrap();
        assert_eq!((removed.paths, removed.stays), (vec![own.clone()], None));
        assert!(!own.exists());
        let removed = purge(&mixed).unwrap();
        assert_eq!((removed.paths, removed.stays), (vec![], Some(mixed.clone())));
        let left: Vec<_> =
            fs::read_dir(&mixed).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, ["thesis.tex"]);
    }

    #[test]
    fn a_folder_of_somebody_else_and_one_in_use_are_refused() {
        let base = tempfile::tempdir().unwrap();
        let (theirs, used) = (base.path().join("theirs"), base.path().join("used"));
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join("lock"), "").unwrap();
        fs::write(theirs.join("diary.txt"), "mine").unwrap();
        assert!(matches!(purge(&theirs).unwrap_err(), ServiceError::NotState { .. }));
        ran(&used);
        let held = State::open(&used).unwrap();
        assert!(matches!(purge(&used).unwrap_err(), ServiceError::InUse { .. }));
        assert!(used.join(KEY).exists());
        drop(held);
        let empty = base.path().join("empty");
        fs::create_dir(&empty).unwrap();
        for nothing in [empty, base.path().join("none")] {
            assert_eq!(StateFolder::find(&nothing).unwrap(), None);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_goes_with_the_folder_that_it_leads_to() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (link, folder) = (base.join("agent"), base.join("big"));
        ran(&folder);
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert_eq!(purge(&link).unwrap().paths, [folder.clone(), link.clone()]);
        assert!(!folder.exists() && !link.is_symlink());
    }
}
