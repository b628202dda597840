//! What is denied to every tool inside the granted folders, by each of its names.

use orion_domain::grants::DenyList;
use orion_domain::path::covers;
use orion_domain::{Access, DevicePath};

use super::Roots;

impl Roots {
    /// Returns whether a path that a call finds in a folder is denied: by a deny entry, by a rule, or as
    /// the agent's own state or trash.
    #[must_use]
    pub fn denies(&self, path: &DevicePath) -> bool {
        // A call that changes a folder changes its content.
        let changes = self.call.as_ref().is_none_or(|call| call.changes());
        let access = if changes { Access::Write } else { Access::Read };
        self.denies_at(path, access) || self.awaits(path)
    }

    /// Returns whether reading this path is denied, whatever the call does.
    #[cfg(target_os = "linux")]
    pub(crate) fn denies_reading(&self, path: &DevicePath) -> bool {
        self.denies_at(path, Access::Read)
    }

    /// Returns whether a folder holds files of the agent itself, however deep.
    #[cfg(target_os = "linux")]
    pub(crate) fn hold_own_files(&self, folder: &DevicePath) -> bool {
        self.private.iter().any(|private| folder.may_contain(private))
    }

    /// Returns whether one access to this path is denied: by a deny entry, or as the agent's own state or
    /// trash.
    pub(super) fn denies_at(&self, path: &DevicePath, access: Access) -> bool {
        self.denies_there(path, access, false)
    }

    /// Checks the same. With `on_way`, a folder that leads to a granted place is not denied.
    fn denies_there(&self, path: &DevicePath, access: Access, on_way: bool) -> bool {
        let kept = |name: &DevicePath| self.keeps_out(name, access, on_way);
        kept(path) || self.names.any(path, kept)
    }

    /// Checks the same for this name of the path only.
    fn keeps_out(&self, path: &DevicePath, access: Access, on_way: bool) -> bool {
        #[cfg(test)]
        if self.naive {
            return false;
        }
        self.keeps_out_by_list(path, access, on_way) || self.own.iter().any(|own| own.denies(path))
    }

    /// Checks the same for this name of the path only, but for Orion's own names.
    fn keeps_out_by_list(&self, path: &DevicePath, access: Access, on_way: bool) -> bool {
        let keeps_out = |list: &DenyList| match on_way {
            true => list.barring(path, access).is_some(),
            false => list.keeping_out(path, access).is_some(),
        };
        self.deny_all
            || self.denied.iter().any(keeps_out)
            || self.private.iter().any(|private| private.may_contain(path))
    }

    /// Returns whether reading this path is denied by another entry than Orion's own names.
    #[cfg(target_os = "linux")]
    pub(super) fn lists_as_denied(&self, path: &DevicePath) -> bool {
        let kept = |name: &DevicePath| self.keeps_out_by_list(name, Access::Read, false);
        kept(path) || self.names.any(path, kept)
    }

    /// Returns whether a path that a call finds beneath a root is denied: by a deny entry, by a rule, or as
    /// a system folder that the root does not name.
    pub(crate) fn hides(&self, root: &DevicePath, path: &DevicePath) -> bool {
        #[cfg(test)]
        if self.naive {
            return false;
        }
        !covers(root, path) || self.denies(path)
    }

    /// Checks an entry of a folder that is gone through, by the path below the requested folder and by the
    /// resolved one.
    pub(crate) fn hides_entry(
        &self,
        root: &DevicePath,
        asked: &DevicePath,
        real: &DevicePath,
    ) -> bool {
        self.hides(root, real) || (asked != real && self.denies(asked))
    }

    /// Checks the same for a path that the call names. `on_way` means that the path continues.
    pub(super) fn hides_at(
        &self,
        root: &DevicePath,
        path: &DevicePath,
        access: Access,
        on_way: bool,
    ) -> bool {
        #[cfg(test)]
        if self.naive {
            return false;
        }
        !covers(root, path) || self.denies_there(path, access, on_way)
    }

    /// Returns whether an entry of this name in a folder that is not hidden needs a full check.
    pub(crate) fn may_hide(&self, name: &str) -> bool {
        self.suspects.may_hold(name) || self.call.as_ref().is_some_and(|call| call.may_hide(name))
    }
}
