//! What is refused beneath whatever is allowed, ready to compare.

use std::sync::LazyLock;

use crate::path::{
    DevicePath, PathPattern, PathStyle, Places, Prefilter, built_in_denies, start_files,
};
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

/// Entries in the order in which they are asked.
#[derive(Debug, Clone, Default)]
struct Entries {
    list: Vec<DeniedPath>,
    prefilter: Prefilter,
}

impl Entries {
    #[inline]
    fn keeping_out(&self, path: &DevicePath, access: Access) -> Option<&DeniedPath> {
        self.prefilter
            .candidates(path)
            .filter_map(|at| self.list.get(at))
            .find(|entry| entry.keeps_out(path, access))
    }

    fn push(&mut self, entry: DeniedPath) {
        self.prefilter.push(&entry.pattern);
        self.list.push(entry);
    }

    /// What is refused from the start on a device of this style.
    fn built_in(style: PathStyle) -> &'static Self {
        static POSIX: LazyLock<Entries> = LazyLock::new(|| Entries::read(PathStyle::Posix));
        static WINDOWS: LazyLock<Entries> = LazyLock::new(|| Entries::read(PathStyle::Windows));
        match style {
            PathStyle::Posix => &POSIX,
            PathStyle::Windows => &WINDOWS,
        }
    }

    fn read(style: PathStyle) -> Self {
        // They hold wherever people have their homes, and so on every device alike.
        let places = Places { style, workspace: None, home: None };
        let mut entries = Self::default();
        for (texts, may_be_read) in [(built_in_denies(style), false), (start_files(style), true)] {
            for text in texts {
                if let Ok(pattern) = PathPattern::parse(&places, text) {
                    entries.push(DeniedPath { pattern, built_in: true, may_be_read });
                }
            }
        }
        entries
    }
}

/// Everything that is refused, in the order in which it is written: what is refused from the start last.
///
/// That is the same on every device of a style, and there once for all of them.
#[derive(Debug, Clone, Default)]
pub struct DenyList {
    own: Entries,
    built_in: Option<&'static Entries>,
}

impl DenyList {
    /// What is refused from the start on a device of this style.
    #[must_use]
    pub fn built_in(style: PathStyle) -> Self {
        Self { own: Entries::default(), built_in: Some(Entries::built_in(style)) }
    }

    /// Every entry.
    pub fn iter(&self) -> impl Iterator<Item = &DeniedPath> {
        self.own.list.iter().chain(self.built_in.into_iter().flat_map(|built_in| &built_in.list))
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.own.list.len() + self.built_in.map_or(0, |built_in| built_in.list.len())
    }

    /// Whether nothing is refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first entry that stands against one access to a path.
    #[must_use]
    pub fn keeping_out(&self, path: &DevicePath, access: Access) -> Option<&DeniedPath> {
        let built_in = || self.built_in?.keeping_out(path, access);
        self.own.keeping_out(path, access).or_else(built_in)
    }

    /// The first entry that stands against what would be done. What is deleted goes with all that is in
    /// it, so an entry that begins somewhere beneath stands against that too.
    #[must_use]
    pub fn refusing(&self, touch: &PathTouch) -> Option<&DeniedPath> {
        self.keeping_out(&touch.path, touch.access)
            .or_else(|| self.iter().find(|entry| entry.goes_with(touch)))
    }
}

impl Extend<DeniedPath> for DenyList {
    fn extend<T: IntoIterator<Item = DeniedPath>>(&mut self, entries: T) {
        entries.into_iter().for_each(|entry| self.own.push(entry));
    }
}

impl FromIterator<DeniedPath> for DenyList {
    fn from_iter<T: IntoIterator<Item = DeniedPath>>(entries: T) -> Self {
        let mut list = Self::default();
        list.extend(entries);
        list
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
    const NAMES: &[&str] = &["a", "A", "b", "bb", "a.b", ".b", "c", ".ssh", ".bashrc"];

    proptest! {
        #[test]
        fn the_first_entry_that_refuses_is_the_one_that_asking_each_in_turn_finds(
            with_built_in in any::<bool>(),
            chosen in prop::collection::vec((prop::sample::select(ENTRIES), any::<bool>()), 0..6),
            names in prop::collection::vec(prop::sample::select(NAMES), 0..4),
            access in prop::sample::select(vec![Access::Read, Access::Write, Access::Delete]),
        ) {
            let built_in = with_built_in.then(|| DenyList::built_in(PathStyle::Posix));
            let mut denied = built_in.unwrap_or_default();
            denied.extend(list(&chosen).iter().cloned());
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
        assert_eq!((denied.iter().count(), denied.len()), (2, 2));
    }

    #[test]
    fn what_is_refused_from_the_start_comes_last_and_is_never_lost() {
        for style in [PathStyle::Posix, PathStyle::Windows] {
            let written = built_in_denies(style).len() + start_files(style).len();
            let mut denied = DenyList::built_in(style);
            assert_eq!((denied.len(), denied.iter().count()), (written, written), "{style:?}");
            assert!(
                denied.iter().all(|entry| entry.built_in && entry.pattern.root().is_none()
                    || entry.pattern.as_text().starts_with('/')),
                "{style:?}"
            );
            denied.extend(list(&[("**/a", false)]).iter().cloned());
            let first = denied.iter().next().map(|entry| entry.pattern.as_text());
            assert_eq!((first, denied.len()), (Some("**/a"), written + 1), "{style:?}");
        }
    }
}
