//! The content of a folder as one value for comparison.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Result};
use std::path::Path;

/// Every path beneath a folder with its content: `None` for folders, text for files, `-> target` for
/// links.
pub type Tree = BTreeMap<String, Option<String>>;

/// Reads a folder. Invalid UTF-8 is shown with replacement characters. Files deleted during the read are
/// left out.
///
/// # Panics
/// The folder does not exist, or something in it cannot be read.
#[must_use]
pub fn tree(root: &Path) -> Tree {
    let name = |path: &Path| path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
    let mut found = Tree::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let Some(entries) = unless_gone(std::fs::read_dir(&folder)) else {
            assert!(folder != root, "{} is not there", root.display());
            found.remove(&name(&folder));
            continue;
        };
        for entry in entries.filter_map(unless_gone) {
            let Some(kind) = unless_gone(entry.file_type()) else { continue };
            let path = entry.path();
            let name = name(&path);
            let content = if kind.is_dir() {
                folders.push(path);
                Some(None)
            } else if kind.is_symlink() {
                let target = unless_gone(std::fs::read_link(path));
                target.map(|target| Some(format!("-> {}", target.display())))
            } else if kind.is_file() {
                let bytes = unless_gone(std::fs::read(path));
                bytes.map(|bytes| Some(String::from_utf8_lossy(&bytes).into_owned()))
            } else {
                Some(Some("neither file nor folder nor link".to_owned()))
            };
            found.extend(content.map(|content| (name, content)));
        }
    }
    found
}

/// Returns the value, unless the file was deleted after it was listed.
fn unless_gone<T>(found: Result<T>) -> Option<T> {
    match found {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        found => Some(found.unwrap()),
    }
}
