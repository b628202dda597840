//! What is refused beneath whatever is allowed, ready to compare.

use std::sync::LazyLock;

use super::scope::AllowedPath;
use crate::path::{
    BuiltInKind, DevicePath, Index, PathPattern, PathStyle, Places, Prefilter, built_in,
};
use crate::touches::{Access, PathTouch};

/// A refused pattern, ready to compare.
#[derive(Debug, Clone)]
pub struct DeniedPath {
    /// What is refused.
    pub pattern: PathPattern,
    /// Why it is refused from the start, on every device; none where a policy refuses it.
    pub built_in: Option<BuiltInKind>,
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
        let may_be = self.built_in == Some(BuiltInKind::StartPlace) && access == Access::Read;
        self.pattern.denies(path) && !may_be
    }

    /// Whether an entry of the allow list names what this entry keeps out, and so lifts it there: of
    /// secrets the file itself, of what starts programs also a folder with all in it.
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

    /// Whether what is deleted takes along where this entry begins.
    fn goes_with(&self, touch: &PathTouch) -> bool {
        touch.access == Access::Delete
            && self.pattern.root().is_some_and(|root| touch.path.may_contain(root))
    }
}

/// Entries of a policy, in the order in which they are asked.
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

/// What is refused from the start on the devices of one style: the same for all, and there once.
#[derive(Debug)]
struct BuiltInEntries {
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
        // They hold wherever people have their homes, and so on every device alike.
        let places = Places { style, workspace: None, home: None };
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
        Self { list, index }
    }

    fn near(&self, path: &DevicePath) -> impl Iterator<Item = &DeniedPath> {
        self.index.candidates(path).into_iter().filter_map(|at| self.list.get(at))
    }
}

/// Everything that is refused, in the order in which it is written: what is refused from the start last.
#[derive(Debug, Clone, Default)]
pub struct DenyList {
    own: Entries,
    built_in: Option<&'static BuiltInEntries>,
    /// Entries of the allow list that name what is refused from the start.
    named: Vec<AllowedPath>,
}

impl DenyList {
    /// What is refused from the start on a device of this style.
    #[must_use]
    pub fn built_in(style: PathStyle) -> Self {
        let built_in = Some(BuiltInEntries::of(style));
        Self { own: Entries::default(), built_in, named: Vec::new() }
    }

    /// Lets an entry of the allow list lift what it names of what is refused from the start.
    pub fn lift(&mut self, allowed: &AllowedPath) {
        let near = self.built_in.into_iter().flat_map(|built_in| built_in.near(&allowed.root));
        if near.into_iter().any(|entry| entry.pattern.denies(&allowed.root)) {
            self.named.push(allowed.clone());
        }
    }

    /// Every entry.
    pub fn iter(&self) -> impl Iterator<Item = &DeniedPath> {
        self.own().chain(self.built_in.into_iter().flat_map(|built_in| &built_in.list))
    }

    /// The entries of the policy itself.
    pub fn own(&self) -> impl Iterator<Item = &DeniedPath> {
        self.own.list.iter()
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
        self.own.keeping_out(path, access).or_else(|| self.built_in_against(path, access))
    }

    /// The first of the entries from the start that stands against one access to a path.
    #[must_use]
    pub fn built_in_against(&self, path: &DevicePath, access: Access) -> Option<&DeniedPath> {
        self.built_in?.near(path).find(|entry| {
            entry.keeps_out(path, access) && !entry.is_lifted(&self.named, path, access)
        })
    }

    /// The same for a folder that is only gone through on the way to something else: one that leads to
    /// what the allow list names is no obstacle.
    #[must_use]
    pub fn barring(&self, path: &DevicePath, access: Access) -> Option<&DeniedPath> {
        let leads = |entry: &AllowedPath| path.contains(&entry.root);
        self.keeping_out(path, access).filter(|entry| {
            !entry.built_in.is_some_and(|kind| kind != BuiltInKind::OwnState)
                || !self.named.iter().any(leads)
        })
    }

    /// Whether writing a path is to one that starts programs, whatever names it.
    #[must_use]
    pub fn is_start_place(&self, path: &DevicePath) -> bool {
        // Without a name for it, it is refused.
        !self.named.is_empty()
            && self.built_in.is_some_and(|built_in| {
                built_in.near(path).any(|entry| {
                    entry.built_in == Some(BuiltInKind::StartPlace) && entry.pattern.denies(path)
                })
            })
    }

    /// The first entry that stands against what would be done. What is deleted goes with all that is in
    /// it, so an entry that begins somewhere beneath stands against that too.
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
        let places = Places { style: PathStyle::Posix, workspace: None, home: None };
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
