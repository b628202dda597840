//! What is kept out of every tool's reach inside the lent folders, by each name that it has.

use orion_domain::path::covers;
use orion_domain::{Access, DevicePath};

use super::Roots;

impl Roots {
    /// Whether a deny entry, a rule, the agent's own state or its trash keeps this path out of what a
    /// call comes by in a folder.
    #[must_use]
    pub fn denies(&self, path: &DevicePath) -> bool {
        // Whoever changes a folder changes what is in it.
        let changes = self.call.as_ref().is_none_or(|call| call.changes());
        let access = if changes { Access::Write } else { Access::Read };
        self.denies_at(path, access) || self.awaits(path)
    }

    /// Whether a deny entry, the agent's own state or its trash keeps one access to this path out.
    pub(super) fn denies_at(&self, path: &DevicePath, access: Access) -> bool {
        self.denies_there(path, access, false)
    }

    /// The same; on the way to something else, what leads to a named place is no obstacle.
    fn denies_there(&self, path: &DevicePath, access: Access, on_way: bool) -> bool {
        let kept = |name: &DevicePath| self.keeps_out(name, access, on_way);
        kept(path) || self.names.any(path, kept)
    }

    /// The same for a path by this name alone.
    fn keeps_out(&self, path: &DevicePath, access: Access, on_way: bool) -> bool {
        #[cfg(test)]
        if self.naive {
            return false;
        }
        self.deny_all
            || self.denied.iter().any(|list| {
                let entry = if on_way {
                    list.barring(path, access)
                } else {
                    list.keeping_out(path, access)
                };
                entry.is_some()
            })
            || self.private.iter().any(|private| private.may_contain(path))
            || self.own.iter().any(|own| own.denies(path))
    }

    /// Whether what a call comes by beneath a root is kept out there, by a deny entry, by a rule, or as
    /// a system folder that the root does not name.
    pub(crate) fn hides(&self, root: &DevicePath, path: &DevicePath) -> bool {
        #[cfg(test)]
        if self.naive {
            return false;
        }
        !covers(root, path) || self.denies(path)
    }

    /// The same for a path that is named. `on_way` says that it is not its end.
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

    /// Whether something of this name in a folder that is not hidden has to be asked about at all.
    pub(crate) fn may_hide(&self, name: &str) -> bool {
        self.suspects.may_hold(name) || self.call.as_ref().is_some_and(|call| call.may_hide(name))
    }
}
