//! What an executor may use, and when it must stop.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use cap_std::fs::Metadata;
use orion_domain::{
    Access, CallId, DevicePath, ErrorCode, Places, RiskRaise, ToolError, Touches, Undo,
};

use super::Memory;
use super::observe::{ExpectedState, compare};
use crate::apps::Apps;
use crate::changes::is_executable;
use crate::risk_gate::RiskGate;
use crate::roots::{Located, Roots};
use crate::trash::Trash;

/// The files in a repository of Git that name what is run, or where else such a file is.
const GIT_SETTINGS: &[&str] = &["config", "config.worktree", "commondir"];

/// What a call is run with.
pub struct Context<'a> {
    /// The call.
    pub call: CallId,
    /// What it may hold in memory, once it has asked.
    pub memory: &'a Memory,
    /// The allowed folders.
    pub roots: &'a Roots,
    /// Where relative paths and `~` begin.
    pub places: &'a Places,
    /// The applications of the device's list.
    pub apps: &'a Apps,
    /// Where what is changed is kept, so that it can be taken back.
    pub trash: &'a Trash,
    /// The device, as its own answers name it.
    pub device_id: &'a str,
    /// Whether nothing may change.
    pub dry_run: bool,
    /// What stands between the call and what raises its risk.
    pub risk: &'a RiskGate,
    /// Set where the trash has no room for what the call replaces or deletes.
    pub is_final: &'a Cell<bool>,
    /// What it touches, as it was judged.
    pub touches: &'a Touches,
    /// What it takes back or does again, as it was judged: of an undoing.
    pub undo: Option<&'a Undo>,
    /// What must still be as it was shown when the call acts.
    pub expected: Option<ExpectedState<'a>>,
    /// Set when a person stops the call.
    pub cancelled: &'a AtomicBool,
    /// When the call has to be over.
    pub deadline: Instant,
    /// Told how many units of how many are done, if that is known, and what they are.
    pub progress: &'a dyn Fn(u64, Option<u64>, &str),
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("call", &self.call)
            .field("device_id", &self.device_id)
            .field("dry_run", &self.dry_run)
            .finish_non_exhaustive()
    }
}

impl Context<'_> {
    /// Whether to go on. Called before a change is made and in every loop.
    ///
    /// # Errors
    /// `CANCELLED` or `TIMEOUT`.
    pub fn check(&self) -> Result<(), ToolError> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(ToolError::new(ErrorCode::Cancelled, "The call was stopped by a person."));
        }
        if Instant::now() >= self.deadline {
            return Err(ToolError::new(
                ErrorCode::Timeout,
                "The call was not done by its deadline and has stopped. Ask for less at once, or for more time.",
            ));
        }
        Ok(())
    }

    /// Refuses the call where something is not as it was shown.
    ///
    /// # Errors
    /// As [`compare`].
    pub(crate) fn compare(&self) -> Result<(), ToolError> {
        self.expected.map_or(Ok(()), |expected| compare(expected, self))
    }

    /// Raises the risk of the call where a file has an execute bit: what is written to `path` would be
    /// run like it.
    ///
    /// # Errors
    /// As [`RiskGate::raise`].
    pub(crate) fn raise_if_executable(
        &self,
        file: &Metadata,
        path: &DevicePath,
    ) -> Result<(), ToolError> {
        if is_executable(file) {
            self.risk.raise(RiskRaise::StartsPrograms, path)?;
        }
        Ok(())
    }

    /// The same for what stands at a place, if anything does, and where the place is in a repository of
    /// Git: what its settings name is run by every command in it, whatever the folder is called.
    ///
    /// # Errors
    /// As [`RiskGate::raise`].
    pub(super) fn raise_if_starting_at(
        &self,
        located: &Located,
        path: &DevicePath,
    ) -> Result<(), ToolError> {
        let Some(name) = located.name() else { return Ok(()) };
        let is_setting = GIT_SETTINGS.iter().any(|setting| name.eq_ignore_ascii_case(setting));
        if is_setting && located.dir.symlink_metadata("HEAD").is_ok() {
            self.risk.raise(RiskRaise::StartsPrograms, path)?;
        }
        let found = located.dir.symlink_metadata(name).ok();
        found.map_or(Ok(()), |metadata| self.raise_if_executable(&metadata, path))
    }

    /// Takes an argument as a path of this device.
    ///
    /// # Errors
    /// `INVALID_PATH`.
    pub(crate) fn path(&self, text: &str) -> Result<DevicePath, ToolError> {
        orion_catalog::tools::path(self.places, text)
    }

    /// Takes an argument as a path of this device and finds where it leads.
    ///
    /// # Errors
    /// As [`Context::path`] and [`Roots::locate`].
    pub(super) fn locate(&self, text: &str, access: Access) -> Result<Located, ToolError> {
        self.roots.locate(&self.path(text)?, access)
    }
}
