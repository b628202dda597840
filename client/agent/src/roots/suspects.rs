//! A quick test for walking large folders: most names can't be denied, whatever folder they are in, and
//! need not be compared with every deny entry.

use std::collections::HashSet;

use orion_domain::path::{PathPattern, copied_from, system_folders};
use orion_domain::{DevicePath, PathStyle};
use serde::{Deserialize, Serialize};

use super::{LOCAL_TRASH, STAGED};

/// The last names of all denied paths. In a folder that is not denied, only an entry with such a name can
/// be denied.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Suspects {
    names: HashSet<String>,
    /// Prefixes and suffixes of names with wildcards.
    wild: Vec<(String, String)>,
    /// Whether every name is a suspect, because some entry has no usable last name.
    all: bool,
}

impl Suspects {
    pub(super) fn new<'a>(
        denied: impl IntoIterator<Item = &'a PathPattern>,
        private: impl IntoIterator<Item = &'a DevicePath>,
    ) -> Self {
        let mut suspects = Self::default();
        suspects.add(Some(LOCAL_TRASH));
        suspects.add(Some(STAGED));
        for pattern in denied {
            let last = if pattern.is_folder() {
                pattern.root().and_then(DevicePath::file_name)
            } else {
                pattern.as_text().rsplit('/').find(|name| !matches!(*name, "" | "."))
            };
            suspects.add(last);
        }
        for path in private {
            suspects.add(path.file_name());
        }
        for style in [PathStyle::Posix, PathStyle::Windows] {
            for folder in system_folders(style) {
                suspects.add(folder.rsplit('/').next());
            }
        }
        suspects
    }

    fn add(&mut self, last: Option<&str>) {
        match last.filter(|it| it.is_ascii() && !it.contains('\\')).map(str::to_ascii_lowercase) {
            None => self.all = true,
            Some(name) => match (name.find(['*', '?']), name.rfind(['*', '?'])) {
                (Some(first), Some(last)) => {
                    let (before, _) = name.split_at(first);
                    let (_, after) = name.split_at(last + 1);
                    self.wild.push((before.to_owned(), after.to_owned()));
                }
                _ => drop(self.names.insert(name)),
            },
        }
    }

    /// Returns whether an entry of this name may be denied in a folder that is not. True proves nothing.
    pub(super) fn may_hold(&self, name: &str) -> bool {
        // Outside ASCII, different letters may count as the same.
        if self.all || !name.is_ascii() {
            return true;
        }
        let name = name.to_ascii_lowercase();
        self.holds(&name) || copied_from(&name).is_some_and(|original| self.holds(&original))
    }

    fn holds(&self, name: &str) -> bool {
        let fits = |(before, after): &(String, String)| {
            name.starts_with(before.as_str()) && name.ends_with(after.as_str())
        };
        self.names.contains(name) || self.wild.iter().any(fits)
    }
}

#[cfg(test)]
mod tests {
    use orion_domain::Places;
    use orion_domain::grants::Grants;

    use super::*;

    #[test]
    fn a_name_that_is_not_suspected_is_never_denied() {
        let places = Places::parse(PathStyle::Posix, Some("/w"), Some("/home/ann")).unwrap();
        let deny = ["~/No/", "**/secret-?.txt", "a/b/./", "x/y*z"].map(ToOwned::to_owned).to_vec();
        let scope = Grants { deny_paths: deny, ..Grants::default() }.compile(&places).0;
        let suspects = Suspects::new(scope.denied.iter().map(|entry| &entry.pattern), &[]);
        let denied = |path: &str| {
            let path = DevicePath::parse(PathStyle::Posix, path).unwrap();
            scope.denied.iter().any(|entry| entry.pattern.denies(&path))
        };
        for (folder, name, is_denied) in [
            ("/home/ann", "no", true),
            ("/home/ann", "none", false),
            ("/x", "Secret-1.TXT", true),
            ("/w/a", "B", true),
            ("/w/x", "YabZ", true),
            ("/w/x", "yabz", true),
            ("/x", ".ssh", true),
            ("/x", ".\u{17f}sh", true),
            ("/x", ".env.x.local", true),
            ("/x", "db.KDBX", true),
            ("/x", "notes.txt", false),
            ("/x/.config", "google-chrome-beta", true),
        ] {
            assert_eq!(denied(&format!("{folder}/{name}")), is_denied, "{folder} {name}");
            assert!(suspects.may_hold(name) || !is_denied, "{folder} {name}");
        }
        for name in ["notes.txt", "IMG_0001.jpg", "etcetera", "src"] {
            assert!(!suspects.may_hold(name), "{name}");
        }
        assert!(suspects.may_hold("etc"));
    }
}
