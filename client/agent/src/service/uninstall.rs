//! Stops the service and removes what `install` made; with the owner's word also the device's identity and state.

use std::fs;
use std::path::{Path, PathBuf};

use super::files::remove_empty;
use super::{Layout, Manager, Owner, ServiceError, account};
use crate::config::files_of_an_upgrade;
use crate::owner_file::remove;
use crate::state::{Identity, Pending, State};

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
    /// Whether the account of the service was removed.
    pub account: bool,
}

/// Stops and removes the service. What is not there is passed over, so that it can be run again.
///
/// # Errors
/// [`ServiceError`], for the step that failed.
pub async fn uninstall(
    layout: &Layout,
    manager: &Manager,
    purge: Purge,
) -> Result<Removed, ServiceError> {
    let mut removed = Removed::default();
    if let Some(earlier) = manager.earlier(layout)? {
        manager.stop(layout).await?;
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
        removed.state(&layout.state_dir)?;
        removed.file(&layout.config)?;
        if layout.owner == Owner::System {
            removed.account = account::remove(&layout.state_dir).await?;
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
        for path in [&layout.program, &layout.unit, &layout.state_dir, &layout.config] {
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

    /// Removes the folder of the state, if it is one.
    fn state(&mut self, folder: &Path) -> Result<(), ServiceError> {
        if !folder.exists() {
            return Ok(());
        }
        let is_state = folder.join("lock").is_file()
            || matches!(Identity::read(folder), Ok(Some(_)))
            || matches!(Pending::read(folder), Ok(Some(_)));
        if !is_state {
            return Err(ServiceError::NotState { path: folder.to_owned() });
        }
        // No agent may be using it; one that was started by hand is not stopped by this.
        let state = State::open(folder)?;
        // On Windows, a folder with an open file stays.
        #[cfg(windows)]
        state.remove_lock();
        fs::remove_dir_all(folder).map_err(ServiceError::at(folder))?;
        #[cfg(not(windows))]
        drop(state);
        self.paths.push(folder.to_owned());
        Ok(())
    }
}
