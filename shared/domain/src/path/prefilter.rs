//! Selects the few entries of a list that may match a path, so that only those are compared.

use super::name::Signature;
use super::{DevicePath, PathPattern};

/// The signatures of entries in one array, so that scanning all of them touches little memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prefilter(Vec<Signature>);

impl Prefilter {
    /// Appends an entry.
    pub(crate) fn push(&mut self, pattern: &PathPattern) {
        self.0.push(pattern.signature);
    }

    /// Returns the positions of the entries that may match or deny the path, in order. The others do
    /// neither.
    #[inline]
    pub(crate) fn candidates(&self, path: &DevicePath) -> impl Iterator<Item = usize> {
        let whole = path.signature;
        let worth = move |(at, entry): (usize, &Signature)| whole.may_hold(*entry).then_some(at);
        self.0.iter().enumerate().filter_map(worth)
    }
}

/// The number of bits in a signature.
const BITS: usize = 128;

/// As [`Prefilter`], for a large constant list: each entry is indexed by one bit that matching paths
/// must have, so that most entries are never read.
#[derive(Debug)]
pub(crate) struct Index {
    buckets: Vec<Vec<(Signature, usize)>>,
    /// Entries that require no bit of a path.
    open: Vec<usize>,
}

impl Index {
    /// Creates an index of these entries, by their positions.
    pub(crate) fn new<'a>(patterns: impl IntoIterator<Item = &'a PathPattern>) -> Self {
        let mut index = Self { buckets: vec![Vec::new(); BITS], open: Vec::new() };
        for (at, pattern) in patterns.into_iter().enumerate() {
            let fewest = pattern
                .signature
                .bits()
                .min_by_key(|bit| index.buckets.get(*bit).map_or(0, Vec::len));
            match fewest.and_then(|bit| index.buckets.get_mut(bit)) {
                Some(bucket) => bucket.push((pattern.signature, at)),
                None => index.open.push(at),
            }
        }
        index
    }

    /// Returns the positions of the entries that may match or deny the path, in order.
    pub(crate) fn candidates(&self, path: &DevicePath) -> Vec<usize> {
        let whole = path.signature;
        let mut found = self.open.clone();
        for bucket in whole.bits().filter_map(|bit| self.buckets.get(bit)) {
            let worth = bucket.iter().filter(|(entry, _)| whole.may_hold(*entry));
            found.extend(worth.map(|(_, at)| *at));
        }
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{PathStyle, Places};

    #[test]
    fn an_entry_is_passed_over_by_the_names_and_endings_that_a_path_lacks() {
        let places = Places::bare(PathStyle::Posix);
        let mut prefilter = Prefilter::default();
        let entries =
            ["**/.ssh", "/srv/a", "**/*.PEM", "**/b*", "**/*.p?m", "**/a/*.key", "**/x/y"]
                .map(|entry| PathPattern::parse(&places, entry).unwrap());
        entries.iter().for_each(|entry| prefilter.push(entry));
        let index = Index::new(&entries);
        for (path, expected) in [
            ("/", vec![3, 4]),
            ("/srv/a/b", vec![1, 3, 4]),
            ("/srv/.SSH/a.b.pem", vec![0, 2, 3, 4]),
            ("/a/.pem", vec![2, 3, 4]),
            ("/a/pem", vec![3, 4]),
            ("/a/b.key/c", vec![3, 4, 5]),
            ("/y/x", vec![3, 4, 6]),
        ] {
            let path = DevicePath::parse(PathStyle::Posix, path).unwrap();
            assert_eq!(prefilter.candidates(&path).collect::<Vec<_>>(), expected, "{path}");
            assert_eq!(index.candidates(&path), expected, "{path}");
        }
    }
}
