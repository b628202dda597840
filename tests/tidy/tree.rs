//! The files of the project, without build output, fetched files and the demo's files.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that are not part of the project.
const NOT_OURS: &[&str] = &["target", "node_modules", ".venv", ".git", "orion-demo"];

/// One file of the project.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// The path below the root, with `/` between its parts.
    pub(crate) path: String,
    /// The content.
    pub(crate) text: String,
}

impl SourceFile {
    /// Returns the absolute path of its folder.
    pub(crate) fn folder(&self) -> PathBuf {
        root().join(&self.path).parent().unwrap().to_owned()
    }
}

/// Returns the workspace's folder.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Reads one file, by its path below the root.
pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns every text file of the project, sorted by path.
pub(crate) fn files() -> Vec<SourceFile> {
    let mut files = Vec::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            let name = entry.file_name();
            if kind.is_dir() {
                if !NOT_OURS.iter().any(|not_ours| name == *not_ours) {
                    folders.push(entry.path());
                }
            } else if kind.is_file()
                && let Ok(text) = fs::read_to_string(entry.path())
            {
                let below = entry.path().strip_prefix(root()).unwrap().to_owned();
                let parts: Vec<_> = below.iter().map(|part| part.to_str().unwrap()).collect();
                files.push(SourceFile { path: parts.join("/"), text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// Returns every file whose name has this ending.
pub(crate) fn files_ending(ending: &str) -> Vec<SourceFile> {
    let mut files = files();
    files.retain(|file| file.path.ends_with(ending));
    assert!(!files.is_empty(), "no file ends in {ending}");
    files
}

/// Returns the lines of Rust without comments, numbered from 1.
pub(crate) fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}
