//! What an executor may use, and when it must stop.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use cap_std::fs::Metadata;
use orion_domain::{
    Access, CallId, DevicePath, ErrorCode, Places, RiskRaise, ToolError, Touches, Undo,
};

use super::{ExpectedState, Memory, RiskGate};
use crate::apps::Apps;
use crate::entry::is_executable;
use crate::roots::{Located, Roots};
use crate::trash::Trash;

/// Files in a Git repository that name programs to run, or that name the location of such a file.
const GIT_SETTINGS: &[&str] = &["config", "config.worktree", "commondir"];

/// The context of one call.
pub struct Context<'a> {
    /// The call.
    pub call: CallId,
    /// Memory that the call holds, after it reserved some.
    pub memory: &'a Memory,
    /// The allowed folders.
    pub roots: &'a Roots,
    /// Base of relative paths and of `~`.
    pub places: &'a Places,
    /// The applications on the device's list.
    pub apps: &'a Apps,
    /// Keeps replaced and deleted content, so that the call can be undone.
    pub trash: &'a Trash,
    /// The device's id in its own results.
    pub device_id: &'a str,
    /// Whether the call must change nothing.
    pub dry_run: bool,
    /// Records what raises the call's risk. Stops the call unless the policy or an approval allows the raise.
    pub risk: &'a RiskGate,
    /// Set if the trash has no space for what the call replaces or deletes.
    pub is_final: &'a Cell<bool>,
    /// What the call touches, as evaluated.
    pub touches: &'a Touches,
    /// What the call undoes or redoes, as evaluated. `None` if the call is not an undo.
    pub undo: Option<&'a Undo>,
    /// What the preview observed, compared when the call acts. `None` if nothing is compared.
    pub expected: Option<ExpectedState<'a>>,
    /// Set when a person stops the call.
    pub cancelled: &'a AtomicBool,
    /// When the call must end.
    pub deadline: Instant,
    /// Reports progress: units done, total if known, and the name of the unit.
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
    /// Checks whether to continue. Called before each change and in every loop.
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

    /// Raises the call's risk if a file has an execute bit: content written to `path` would be run like it.
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

    /// As [`raise_if_executable`](Self::raise_if_executable), for the entry at a location, if any. Raises the
    /// risk as well if the location is a setting of a Git repository: every Git command in it runs what such
    /// a setting names, whatever the folder is called.
    ///
    /// # Errors
    /// As [`RiskGate::raise`].
    pub(crate) fn raise_if_starting_at(
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

    /// Parses an argument as a path of this device.
    ///
    /// # Errors
    /// `INVALID_PATH`.
    pub(crate) fn path(&self, text: &str) -> Result<DevicePath, ToolError> {
        orion_catalog::tools::path(self.places, text)
    }

    /// Parses an argument as a path of this device, and resolves it.
    ///
    /// # Errors
    /// As [`Context::path`] and [`Roots::locate`].
    pub(crate) fn locate(&self, text: &str, access: Access) -> Result<Located, ToolError> {
        self.roots.locate(&self.path(text)?, access)
    }
}
