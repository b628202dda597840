//! What is refused beneath whatever is allowed, ready to compare.

use std::ops::Deref;

use crate::path::{DevicePath, PathPattern, Prefilter};
use crate::touches::{Access, PathTouch};

/// A refused pattern, ready to compare.
#[derive(Debug, Clone)]
pub struct DeniedPath {
    /// What is refused.
    pub pattern: PathPattern,
    /// Whether it is refused from the start, on every device.
    pub built_in: bool,
    /// Whether only writing and deleting are refused: what is there starts programs.
    pub may_be_read: bool,
}

impl DeniedPath {
    /// Whether this entry stands against what would be done.
    #[must_use]
    pub fn refuses(&self, touch: &PathTouch) -> bool {
        self.keeps_out(&touch.path, touch.access) || self.goes_with(touch)
    }

    /// Whether this entry stands against one access to a path.
    #[must_use]
    pub fn keeps_out(&self, path: &DevicePath, access: Access) -> bool {
        self.pattern.denies(path) && !(self.may_be_read && access == Access::Read)
    }

    /// Whether what is deleted takes along where this entry begins.
    fn goes_with(&self, touch: &PathTouch) -> bool {
        touch.access == Access::Delete
            && self.pattern.root().is_some_and(|root| touch.path.may_contain(root))
    }
}

/// Everything that is refused, in the order in which it is written: what is refused from the start last.
#[derive(Debug, Clone, Default)]
pub struct DenyList {
    entries: Vec<DeniedPath>,
    prefilter: Prefilter,
}

impl DenyList {
    /// The first entry that stands against one access to a path.
    #[must_use]
    pub fn keeping_out(&self, path: &DevicePath, access: Access) -> Option<&DeniedPath> {
        self.prefilter
            .candidates(path)
            .filter_map(|at| self.entries.get(at))
            .find(|entry| entry.keeps_out(path, access))
    }

    /// The first entry that stands against what would be done. What is deleted goes with all that is in
    /// it, so an entry that begins somewhere beneath stands against that too.
    #[must_use]
    pub fn refusing(&self, touch: &PathTouch) -> Option<&DeniedPath> {
        self.keeping_out(&touch.path, touch.access)
            .or_else(|| self.entries.iter().find(|entry| entry.goes_with(touch)))
    }
}

impl Deref for DenyList {
    type Target = [DeniedPath];

    fn deref(&self) -> &[DeniedPath] {
        &self.entries
    }
}

impl Extend<DeniedPath> for DenyList {
    fn extend<T: IntoIterator<Item = DeniedPath>>(&mut self, entries: T) {
        for entry in entries {
            self.prefilter.push(&entry.pattern);
            self.entries.push(entry);
        }
    }
}

impl FromIterator<DeniedPath> for DenyList {
    fn from_iter<T: IntoIterator<Item = DeniedPath>>(entries: T) -> Self {
        let mut list = Self::default();
        list.extend(entries);
        list
    }
}

impl<'a> IntoIterator for &'a DenyList {
    type Item = &'a DeniedPath;
    type IntoIter = std::slice::Iter<'a, DeniedPath>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::path::{PathStyle, Places};

    fn list(entries: &[(&str, bool)]) -> DenyList {
        let places = Places { style: PathStyle::Posix, workspace: None, home: None };
        let entry = |&(text, may_be_read)| DeniedPath {
            pattern: PathPattern::parse(&places, text).unwrap(),
            built_in: false,
            may_be_read,
        };
        entries.iter().map(entry).collect()
    }

    const ENTRIES: &[&str] = &["/a", "/a/b", "**/a", "**/*.b", "**/b?", "/b/*/a", "**/B", "/b/a.b"];
    const NAMES: &[&str] = &["a", "A", "b", "bb", "a.b", ".b", "c"];

    proptest! {
        #[test]
        fn the_first_entry_that_refuses_is_the_one_that_asking_each_in_turn_finds(
            chosen in prop::collection::vec((prop::sample::select(ENTRIES), any::<bool>()), 0..6),
            names in prop::collection::vec(prop::sample::select(NAMES), 0..4),
            access in prop::sample::select(vec![Access::Read, Access::Write, Access::Delete]),
        ) {
            let denied = list(&chosen);
            let path = DevicePath::parse(PathStyle::Posix, &format!("/{}", names.join("/"))).unwrap();
            let touch = PathTouch { path, access };
            let position = |found: Option<&DeniedPath>| {
                found.and_then(|found| denied.iter().position(|entry| std::ptr::eq(entry, found)))
            };
            let keeping_out = denied.iter().position(|entry| entry.keeps_out(&touch.path, access));
            prop_assert_eq!(position(denied.keeping_out(&touch.path, access)), keeping_out);
            let with_it = denied.iter().position(|entry| entry.goes_with(&touch));
            prop_assert_eq!(position(denied.refusing(&touch)), keeping_out.or(with_it));
            prop_assert_eq!(
                denied.refusing(&touch).is_some(),
                denied.iter().any(|entry| entry.refuses(&touch))
            );
        }
    }

    #[test]
    fn what_is_added_later_is_looked_at_as_well() {
        let mut denied = list(&[("/a", false)]);
        denied.extend(list(&[("**/*.b", true)]).iter().cloned());
        let path = DevicePath::parse(PathStyle::Posix, "/c/a.b").unwrap();
        assert!(denied.keeping_out(&path, Access::Read).is_none());
        let kept_out =
            denied.keeping_out(&path, Access::Write).map(|entry| entry.pattern.as_text());
        assert_eq!(kept_out, Some("**/*.b"));
        assert_eq!((&denied).into_iter().count(), 2);
    }
}
