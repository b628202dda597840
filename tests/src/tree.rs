//! What is in a folder, as one value that can be compared.

use std::collections::BTreeMap;
use std::path::Path;

/// Every path beneath a folder with what is there: `None` for folders, content for files, the target
/// for links as `-> target`.
pub type Tree = BTreeMap<String, Option<String>>;

/// Looks at a folder. Content that is no text is shown with replacements.
#[must_use]
pub fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            let content = if kind.is_dir() {
                folders.push(path);
                None
            } else if kind.is_symlink() {
                Some(format!("-> {}", std::fs::read_link(path).unwrap().display()))
            } else if kind.is_file() {
                Some(String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned())
            } else {
                Some("neither file nor folder nor link".to_owned())
            };
            found.insert(name, content);
        }
    }
    found
}
