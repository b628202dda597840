//! The granted folders as one call may use them: the decision by the paths that the call names must also
//! hold for the real paths, and for the content of folders.

use std::sync::Arc;

use orion_domain::{Access, DevicePath, ToolError};

use super::suspects::Suspects;
use super::{Located, Roots, refused};
use crate::verdict::Verdict;

/// The call that uses the folders.
#[derive(Debug)]
pub(super) struct Call {
    verdict: Verdict,
    suspects: Suspects,
}

impl Call {
    pub(super) fn changes(&self) -> bool {
        self.verdict.changes()
    }

    pub(super) fn may_hide(&self, name: &str) -> bool {
        self.verdict.awaits_any() && self.suspects.may_hold(name)
    }
}

impl Roots {
    /// Returns the same folders for the call with this verdict.
    #[must_use]
    pub fn of_call(&self, verdict: Verdict) -> Self {
        let suspects = Suspects::new(verdict.awaited(), self.names.of_kept());
        Self {
            ground: Arc::clone(&self.ground),
            call: Some(Call { verdict, suspects }),
            #[cfg(test)]
            naive: self.naive,
        }
    }

    /// Returns `found` if the call may use that place.
    pub(super) fn held(&self, found: Located, access: Access) -> Result<Located, ToolError> {
        let Some(Call { verdict, .. }) = &self.call else { return Ok(found) };
        let whole = found.rest.iter().try_fold(found.real.clone(), |path, name| path.join(name));
        let real = whole.map_err(|_| self.not_allowed(&found.asked, access))?;
        verdict.hold(&found.asked, access, &real)?;
        if self.awaits_by_another_name(&real) {
            let asked = &found.asked;
            let message = format!(
                "{asked} is the same place as one that a rule of the policy speaks of by another name."
            );
            let error = refused(asked, message, "device: links");
            return Err(error.hint("name it as the rule does"));
        }
        Ok(found)
    }

    /// Returns whether a rule that did not match the call matches this path, by any of its names.
    pub(super) fn awaits(&self, path: &DevicePath) -> bool {
        let awaits = |call: &Call| call.verdict.awaits(path);
        self.call.as_ref().is_some_and(awaits) || self.awaits_by_another_name(path)
    }

    fn awaits_by_another_name(&self, path: &DevicePath) -> bool {
        self.call
            .as_ref()
            .filter(|call| call.verdict.awaits_any())
            .is_some_and(|call| self.names.any(path, |name| call.verdict.awaits(name)))
    }
}
