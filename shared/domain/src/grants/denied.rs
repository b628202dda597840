//! Deny entries, compiled for comparison: they deny paths beneath an allowed path.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::scope::AllowedPath;
use crate::path::{
    BuiltInKind, DevicePath, Index, PathPattern, PathStyle, Places, Prefilter, built_in,
};
use crate::touches::{Access, PathTouch};

/// A denied pattern, compiled for comparison.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeniedPath {
    /// The pattern.
    pub pattern: PathPattern,
    /// Why the entry is built in on every device. `None` where a policy denies it.
    pub built_in: Option<BuiltInKind>,
}

impl DeniedPath {
    /// Returns whether this entry denies the touch.
    #[must_use]
    pub fn refuses(&self, touch: &PathTouch) -> bool {
        self.keeps_out(&touch.path, touch.access) || self.goes_with(touch)
    }

    /// Returns whether this entry denies one access to a path.
    #[must_use]
    pub fn keeps_out(&self, path: &DevicePath, access: Access) -> bool {
        let may_be = self.built_in == Some(BuiltInKind::StartPlace) && access == Access::Read;
        self.pattern.denies(path) && !may_be
    }

    /// Returns whether an entry of the allow list names what this entry denies, and so lifts the denial
    /// there. A secret must be named as a file; a start place also as a folder with its content.
    fn is_lifted(&self, named: &[AllowedPath], path: &DevicePath, access: Access) -> bool {
        let names = |entry: &AllowedPath| {
            entry.access.contains(&access)
                && entry.root.contains(path)
                && match self.built_in {
                    Some(BuiltInKind::Secret) => path.contains(&entry.root),
                    Some(BuiltInKind::StartPlace) => self.pattern.denies(&entry.root),
                    Some(BuiltInKind::OwnState) | None => false,
                }
        };
        named.iter().any(names)
    }

    /// Returns whether a delete would remove the folder where this entry begins.
    fn goes_with(&self, touch: &PathTouch) -> bool {
        touch.access == Access::Delete
            && self.pattern.root().is_some_and(|root| touch.path.may_contain(root))
    }
}

/// Entries of a policy, in the order in which they are evaluated.
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
}

/// The built-in entries for the devices of one style, shared by all of them.
#[derive(Debug)]
struct BuiltInEntries {
    style: PathStyle,
    list: Vec<DeniedPath>,
    index: Index,
}

impl BuiltInEntries {
    fn of(style: PathStyle) -> &'static Self {
        static POSIX: LazyLock<BuiltInEntries> =
            LazyLock::new(|| BuiltInEntries::read(PathStyle::Posix));
        static WINDOWS: LazyLock<BuiltInEntries> =
            LazyLock::new(|| BuiltInEntries::read(PathStyle::Windows));
        match style {
            PathStyle::Posix => &POSIX,
            PathStyle::Windows => &WINDOWS,
        }
    }

    fn read(style: PathStyle) -> Self {
        // The entries apply wherever home folders are, and so on every device alike.
        let places = Places::bare(style);
        let list: Vec<DeniedPath> = built_in(style)
            .iter()
            .filter_map(|entry| {
                let pattern = PathPattern::parse(&places, entry.pattern).ok()?.but(entry.but);
                let pattern = match entry.kind {
                    BuiltInKind::Secret => pattern.with_copies(),
                    BuiltInKind::OwnState | BuiltInKind::StartPlace => pattern,
                };
                Some(DeniedPath { pattern, built_in: Some(entry.kind) })
            })
            .collect();
        let index = Index::new(list.iter().map(|entry| &entry.pattern));
        Self { style, list, index }
    }

    fn near(&self, path: &DevicePath) -> impl Iterator<Item = &DeniedPath> {
        self.index.candidates(path).into_iter().filter_map(|at| self.list.get(at))
    }
}

/// Every deny entry, in order: the policy's as written, then the built-in ones.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Form", into = "Form")]
pub struct DenyList {
    own: Entries,
    built_in: Option<&'static BuiltInEntries>,
    /// Entries of the allow list that name what is built in.
    named: Vec<AllowedPath>,
}

/// A deny list as one process sends it to another.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    own: Vec<DeniedPath>,
    built_in: Option<PathStyle>,
    named: Vec<AllowedPath>,
}

impl From<Form> for DenyList {
    fn from(Form { own, built_in, named }: Form) -> Self {
        let mut list =
            Self { built_in: built_in.map(BuiltInEntries::of), named, ..Self::default() };
        list.extend(own);
        list
    }
}

impl From<DenyList> for Form {
    fn from(DenyList { own, built_in, named }: DenyList) -> Self {
        Self { own: own.list, built_in: built_in.map(|entries| entries.style), named }
    }
}

impl DenyList {
    /// Returns the built-in entries for a device of this style.
    #[must_use]
    pub fn built_in(style: PathStyle) -> Self {
        let built_in = Some(BuiltInEntries::of(style));
        Self { own: Entries::default(), built_in, named: Vec::new() }
    }

    /// Lets an entry of the allow list lift the built-in entries that it names.
    pub fn lift(&mut self, allowed: &AllowedPath) {
        let near = self.built_in.into_iter().flat_map(|built_in| built_in.near(&allowed.root));
        if near.into_iter().any(|entry| entry.pattern.denies(&allowed.root)) {
            self.named.push(allowed.clone());
        }
    }

    /// Returns every entry.
    pub fn iter(&self) -> impl Iterator<Item = &DeniedPath> {
        self.own().chain(self.built_in.into_iter().flat_map(|built_in| &built_in.list))
    }

    /// Returns the entries of the policy itself.
    pub fn own(&self) -> impl Iterator<Item = &DeniedPath> {
        self.own.list.iter()
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.own.list.len() + self.built_in.map_or(0, |built_in| built_in.list.len())
    }

    /// Returns whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the first entry that denies one access to a path.
    #[must_use]
    pub fn keeping_out(&self, path: &DevicePath, access: Access) -> Option<&DeniedPath> {
        self.own.keeping_out(path, access).or_else(|| self.built_in_against(path, access))
    }

    /// Returns the first built-in entry that denies one access to a path.
    #[must_use]
    pub fn built_in_against(&self, path: &DevicePath, access: Access) -> Option<&DeniedPath> {
        self.built_in?.near(path).find(|entry| {
            entry.keeps_out(path, access) && !entry.is_lifted(&self.named, path, access)
        })
    }

    /// As [`Self::keeping_out`], for a folder that is only traversed: a folder that leads to what the
    /// allow list names is not denied.
    #[must_use]
    pub fn barring(&self, path: &DevicePath, access: Access) -> Option<&DeniedPath> {
        let leads = |entry: &AllowedPath| path.contains(&entry.root);
        self.keeping_out(path, access).filter(|entry| {
            !entry.built_in.is_some_and(|kind| kind != BuiltInKind::OwnState)
                || !self.named.iter().any(leads)
        })
    }

    /// Returns whether a path is a start place, even if the allow list names it.
    #[must_use]
    pub fn is_start_place(&self, path: &DevicePath) -> bool {
        // Unless the allow list names it, a start place is denied.
        !self.named.is_empty()
            && self.built_in.is_some_and(|built_in| {
                built_in.near(path).any(|entry| {
                    entry.built_in == Some(BuiltInKind::StartPlace) && entry.pattern.denies(path)
                })
            })
    }

    /// Returns the first entry that denies the touch. A delete removes everything in a folder, so an
    /// entry that begins beneath the folder denies the delete too.
    #[must_use]
    pub fn refusing(&self, touch: &PathTouch) -> Option<&DeniedPath> {
        self.keeping_out(&touch.path, touch.access).or_else(|| {
            let is_deleted = touch.access == Access::Delete;
            self.iter().filter(|_| is_deleted).find(|entry| entry.goes_with(touch))
        })
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
        let places = Places::bare(PathStyle::Posix);
        let entry = |&(text, may_be_read): &(&str, bool)| DeniedPath {
            pattern: PathPattern::parse(&places, text).unwrap(),
            built_in: may_be_read.then_some(BuiltInKind::StartPlace),
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
    fn a_folder_on_the_way_to_a_named_secret_is_passed_and_orions_own_is_not() {
        let path = |text: &str| DevicePath::parse(PathStyle::Posix, text).unwrap();
        let mut denied = DenyList::built_in(PathStyle::Posix);
        for named in ["/home/ann/.ssh/id.pub", "/home/ann/.config/orion/x"] {
            denied.lift(&AllowedPath {
                root: path(named),
                only: None,
                access: [Access::Read].into(),
            });
        }
        for (text, barred) in [
            ("/home/ann/.ssh", false),
            ("/home/bob/.ssh", true),
            ("/home/ann/.ssh/id", true),
            ("/home/ann/.config/orion", true),
            ("/home/ann", false),
        ] {
            assert_eq!(denied.barring(&path(text), Access::Read).is_some(), barred, "{text}");
        }
        denied.extend(list(&[("/home/ann/.ssh", false)]).iter().cloned());
        assert!(denied.barring(&path("/home/ann/.ssh"), Access::Read).is_some(), "by the policy");
    }

    #[test]
    fn a_start_place_is_one_that_starts_programs_where_the_allow_list_names_any() {
        let path = |text: &str| DevicePath::parse(PathStyle::Posix, text).unwrap();
        let mut denied = DenyList::built_in(PathStyle::Posix);
        assert!(!denied.is_start_place(&path("/home/ann/.bashrc")), "it is denied");
        let named = path("/home/ann/.profile");
        denied.lift(&AllowedPath { root: named, only: None, access: [Access::Write].into() });
        for (text, expected) in [
            ("/home/ann/.bashrc", true),
            ("/home/ann/.profile", true),
            ("/home/ann/.ssh/id_rsa", false),
            ("/home/ann/notes.txt", false),
        ] {
            assert_eq!(denied.is_start_place(&path(text)), expected, "{text}");
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
            let written = built_in(style).len();
            let mut denied = DenyList::built_in(style);
            assert_eq!((denied.len(), denied.iter().count()), (written, written), "{style:?}");
            assert!(
                denied.iter().all(|entry| entry.built_in.is_some()
                    && (entry.pattern.root().is_none()
                        || entry.pattern.as_text().starts_with('/'))),
                "{style:?}"
            );
            denied.extend(list(&[("**/a", false)]).iter().cloned());
            let first = denied.iter().next().map(|entry| entry.pattern.as_text());
            assert_eq!((first, denied.len()), (Some("**/a"), written + 1), "{style:?}");
        }
    }
}
