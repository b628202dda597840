//! What a file tool may use besides what every tool may: the trash, the risk gate, and what was evaluated and
//! shown before the call.

use std::cell::Cell;
use std::fmt;
use std::ops::Deref;

use cap_std::fs::Metadata;
use orion_domain::{DevicePath, RiskRaise, ToolError, Touches, Undo};

use super::{Context, ExpectedState, RiskGate};
use crate::entry::is_executable;
use crate::roots::Located;
use crate::trash::Trash;

/// Files in a Git repository that name programs to run, or that name the location of such a file.
const GIT_SETTINGS: &[&str] = &["config", "config.worktree", "commondir"];

/// The context of one call of a file tool.
#[derive(Clone, Copy)]
pub struct FileContext<'a> {
    /// What every tool may use.
    pub common: Context<'a>,
    /// Keeps replaced and deleted content, so that the call can be undone.
    pub trash: &'a Trash,
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
}

impl<'a> Deref for FileContext<'a> {
    type Target = Context<'a>;

    fn deref(&self) -> &Context<'a> {
        &self.common
    }
}

impl fmt::Debug for FileContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileContext").field("common", &self.common).finish_non_exhaustive()
    }
}

impl FileContext<'_> {
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
}
