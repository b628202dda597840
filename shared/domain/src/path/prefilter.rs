//! A first look at many entries at once: which of them are worth a closer one for some path.

use super::name::Signature;
use super::{DevicePath, PathPattern};

/// The signatures of entries, side by side, so that looking them all through touches little memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prefilter(Vec<Signature>);

impl Prefilter {
    /// Keeps one more entry, behind those that are there.
    pub(crate) fn push(&mut self, pattern: &PathPattern) {
        self.0.push(pattern.signature);
    }

    /// The positions of the entries that may match or deny the path, in order. What is left out does neither.
    #[inline]
    pub(crate) fn candidates(&self, path: &DevicePath) -> impl Iterator<Item = usize> {
        let whole = path.signature;
        let worth = move |(at, entry): (usize, &Signature)| whole.may_hold(*entry).then_some(at);
        self.0.iter().enumerate().filter_map(worth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{PathStyle, Places};

    #[test]
    fn an_entry_is_passed_over_by_the_names_and_endings_that_a_path_lacks() {
        let places = Places { style: PathStyle::Posix, workspace: None, home: None };
        let mut prefilter = Prefilter::default();
        for entry in ["**/.ssh", "/srv/a", "**/*.PEM", "**/b*", "**/*.p?m", "**/a/*.key", "**/x/y"]
        {
            prefilter.push(&PathPattern::parse(&places, entry).unwrap());
        }
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
        }
    }
}
