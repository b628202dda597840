//! Reasons for a higher risk that only the device's disk shows. A preview reports them; the call itself
//! continues only if a person approved it after seeing them, or the policy allows it.

use std::cell::RefCell;

use cap_std::fs::Metadata;
#[cfg(target_os = "linux")]
use orion_domain::touches::CommandTouch;
use orion_domain::{Actor, DevicePath, ErrorCode, Hint, RiskRaise, ToolError};

use crate::entry::is_executable;
use crate::roots::Located;
use crate::verdict::Verdict;

/// Files in a Git repository that name programs to run, or that name the location of such a file.
const GIT_SETTINGS: &[&str] = &["config", "config.worktree", "commondir"];

/// Stops a call whose risk is raised. Without a verdict or an approval, every raise stops the call.
#[derive(Debug, Default)]
pub struct RiskGate {
    verdict: Option<Verdict>,
    /// The reasons that were shown to the person who approved the call.
    approved: Vec<RiskRaise>,
    dry_run: bool,
    reported: RefCell<Vec<RiskRaise>>,
}

impl RiskGate {
    /// Creates the gate of one call; `approved` are the reasons in its approval.
    #[must_use]
    pub fn new(verdict: Option<Verdict>, approved: Vec<RiskRaise>, dry_run: bool) -> Self {
        Self { verdict, approved, dry_run, reported: RefCell::default() }
    }

    /// Raises the risk of the call for a reason at a path.
    ///
    /// # Errors
    /// `APPROVAL_REQUIRED` with the reason in `raises`, if a person has to see it first. A preview
    /// continues and reports the reason. `PERMISSION_DENIED` if the policy needs nobody to see it, and the owner of
    /// this device does.
    pub fn raise(&self, raise: RiskRaise, path: &DevicePath) -> Result<(), ToolError> {
        let is_allowed =
            self.verdict.as_ref().is_some_and(|verdict| verdict.allows_raised(raise, path));
        let is_allowed = is_allowed || self.approved.contains(&raise);
        let is_new = self.verdict.as_ref().is_some_and(|it| it.owner_has_to_know(raise, path));
        if is_allowed && !is_new {
            return Ok(());
        }
        if self.dry_run {
            let mut reported = self.reported.borrow_mut();
            if !reported.contains(&raise) {
                reported.push(raise);
            }
            return Ok(());
        }
        if is_allowed {
            return Err(unasked_owner(raise, path));
        }
        let message = format!(
            "{path}: {} Nothing was done: a person has to approve this call first.",
            raise.sentence()
        );
        Err(ToolError::new(ErrorCode::ApprovalRequired, message)
            .with("attempted_path", path.to_string())
            .with("raises", vec![raise.as_str()]))
    }

    /// Raises the risk if the path's name is one that starts programs, and the policy does not grant
    /// `execute` there.
    ///
    /// # Errors
    /// As [`RiskGate::raise`].
    pub fn raise_if_starting(&self, path: &DevicePath) -> Result<(), ToolError> {
        if self.verdict.as_ref().is_some_and(|verdict| verdict.raises_for_writing(path)) {
            self.raise(RiskRaise::StartsPrograms, path)?;
        }
        Ok(())
    }

    /// Raises the risk if a file has an execute bit: content written to `path` would be run like it.
    ///
    /// # Errors
    /// As [`RiskGate::raise`].
    pub(crate) fn raise_if_executable(
        &self,
        file: &Metadata,
        path: &DevicePath,
    ) -> Result<(), ToolError> {
        if is_executable(file) {
            self.raise(RiskRaise::StartsPrograms, path)?;
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
            self.raise(RiskRaise::StartsPrograms, path)?;
        }
        let found = located.dir.symlink_metadata(name).ok();
        found.map_or(Ok(()), |metadata| self.raise_if_executable(&metadata, path))
    }

    /// Evaluates the call again with programs that only the device knows. Without a verdict none may start.
    ///
    /// # Errors
    /// `COMMAND_NOT_ALLOWED`, or the policy's error for the programs.
    #[cfg(target_os = "linux")]
    pub(crate) fn hold_commands(&self, commands: Vec<CommandTouch>) -> Result<(), ToolError> {
        match &self.verdict {
            Some(verdict) => verdict.hold_commands(commands),
            None => {
                let message = "The programs of this call were not evaluated.";
                Err(ToolError::new(ErrorCode::CommandNotAllowed, message))
            }
        }
    }

    /// Returns whether the policy and the ceiling also grant another tool. Without a verdict none is.
    #[cfg(target_os = "linux")]
    pub(crate) fn grants_tool(&self, spec: &orion_catalog::ToolSpec) -> bool {
        self.verdict.as_ref().is_some_and(|verdict| verdict.grants_tool(spec))
    }

    /// Returns the reasons that a preview found.
    #[must_use]
    pub fn into_reported(self) -> Vec<RiskRaise> {
        self.reported.into_inner()
    }
}

/// Returns the error for a call whose risk only the disk shows, so that the person at the device was not asked.
fn unasked_owner(raise: RiskRaise, path: &DevicePath) -> ToolError {
    let message = format!(
        "{path}: {} Nothing was done: the person at the device has to be asked before such a call, and was not, because only the disk shows it.",
        raise.sentence()
    );
    ToolError::new(ErrorCode::PermissionDenied, message)
        .with("attempted_path", path.to_string())
        .with("layer", "consent")
        .hint(
            Hint::new("name the tool in [consent] of agent.toml, and the question comes first")
                .by(Actor::Owner),
        )
}

#[cfg(test)]
mod tests {
    use orion_domain::PathStyle;

    use super::*;

    #[test]
    fn nothing_passes_unseen_and_a_preview_reports_each_reason_once() {
        let path = DevicePath::parse(PathStyle::Posix, "/srv/a").unwrap();
        let raise = RiskRaise::StartsPrograms;
        let error = RiskGate::default().raise(raise, &path).unwrap_err();
        assert_eq!(error.code, ErrorCode::ApprovalRequired);
        assert_eq!(error.details["raises"], serde_json::json!(["starts_programs"]));
        let other = RiskGate::new(None, vec![RiskRaise::CannotBeUndone], false);
        assert!(other.raise(raise, &path).is_err(), "another reason was shown");
        let seen = RiskGate::new(None, vec![raise], false);
        assert_eq!(seen.raise(raise, &path), Ok(()));
        let preview = RiskGate::new(None, Vec::new(), true);
        assert_eq!(preview.raise(raise, &path), Ok(()));
        assert_eq!(preview.raise(raise, &path), Ok(()));
        assert_eq!(preview.into_reported(), [raise]);
    }
}
