//! What is on disk before and after an example: the home with the working directory, the temporary folder, the
//! folders of devices and the backend's data.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use orion_domain::Digest;

/// What tells a secret: it is in files that only their owner reads.
const SECRETS: [&str; 2] = ["PRIVATE KEY", "orion_"];

/// The files of the data folder that a running backend writes by itself, at any time.
const OWN: [&str; 2] = ["audit.head", ".audit.head."];

/// A folder that is looked at.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    /// How its paths begin.
    pub(super) name: String,
    /// Where it is.
    pub(super) path: PathBuf,
    /// Whether files are compared, and not only their names: a running backend writes its own.
    pub(super) by_content: bool,
}

/// Each path with what is there.
pub(super) type Disk = BTreeMap<String, Seen>;

/// A file, folder or link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    content: Option<Digest>,
    /// Nobody but its owner may read it.
    is_private: bool,
    holds_secret: bool,
}

/// Returns what is in these folders.
pub(super) fn look(folders: &[Watched]) -> Disk {
    let mut disk = Disk::new();
    for folder in folders.iter().filter(|folder| folder.path.exists()) {
        walk(folder, &folder.path, &mut disk);
    }
    disk
}

fn walk(folder: &Watched, at: &Path, disk: &mut Disk) {
    let Ok(entries) = std::fs::read_dir(at) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        // A database's own temporary files come and go.
        let Ok(metadata) = std::fs::symlink_metadata(&path) else { continue };
        let within = path.strip_prefix(&folder.path).unwrap().display();
        let is_private = metadata.permissions().mode() & 0o077 == 0;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !folder.by_content && OWN.iter().any(|own| name.starts_with(own)) {
            continue;
        }
        let mut seen = Seen { content: None, is_private, holds_secret: false };
        if metadata.is_dir() {
            disk.insert(format!("{}{within}/", folder.name), seen);
            walk(folder, &path, disk);
            continue;
        }
        if metadata.is_file() && folder.by_content {
            let bytes = std::fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            seen.holds_secret = SECRETS.iter().any(|it| text.contains(it));
            seen.content = Some(Digest::of(&bytes));
        }
        disk.insert(format!("{}{within}", folder.name), seen);
    }
}

/// Returns what has changed, a line for each path: `+` new, `-` gone, `~` changed.
pub(super) fn changes(before: &Disk, after: &Disk) -> Vec<String> {
    let mark = |path: &str, seen: &Seen| {
        let private = if seen.is_private { " (private)" } else { "" };
        match before.get(path) {
            None => Some(format!("+ {path}{private}")),
            Some(was) if was != seen => Some(format!("~ {path}{private}")),
            Some(_) => None,
        }
    };
    let new = after.iter().filter_map(|(path, seen)| mark(path, seen));
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    new.chain(gone.map(|path| format!("- {path}"))).collect()
}

/// Returns the changes that are not expected.
pub(super) fn unexpected(changes: &[String], expected: &[String]) -> Vec<String> {
    let unexpected = changes.iter().filter(|it| !expected.iter().any(|other| meets(it, other)));
    unexpected.map(|it| format!("left and not in the rule: {it}")).collect()
}

/// Returns the expectations that no change meets.
pub(super) fn missing(changes: &[String], expected: &[String]) -> Vec<String> {
    let missing = expected.iter().filter(|it| !changes.iter().any(|change| meets(change, it)));
    missing.map(|it| format!("in the rule and not left: {it}")).collect()
}

fn meets(change: &str, expected: &str) -> bool {
    match expected.split_once("**") {
        Some((beginning, end)) => change.starts_with(beginning) && change.ends_with(end),
        None => change == expected,
    }
}

/// Returns the new files with secrets that others may read.
pub(super) fn open_secrets(before: &Disk, after: &Disk) -> Vec<String> {
    let is_open = |(path, seen): &(&String, &Seen)| {
        seen.holds_secret && !seen.is_private && before.get(*path) != Some(*seen)
    };
    let open = after.iter().filter(is_open);
    open.map(|(path, _)| format!("others may read the secret in {path}")).collect()
}

#[test]
fn a_change_is_expected_by_its_own_line_or_by_its_folder() {
    let lines = |lines: &[&str]| lines.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let changes = lines(&["+ a/", "+ a/b (private)", "~ c"]);
    let expected = lines(&["+ a/**", "+ a/** (private)", "- d"]);
    assert_eq!(unexpected(&changes, &expected), ["left and not in the rule: ~ c"]);
    assert_eq!(missing(&changes, &expected), ["in the rule and not left: - d"]);
}

#[test]
fn a_readable_secret_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let watched = [Watched { name: "~/".to_owned(), path: folder.path().into(), by_content: true }];
    let before = look(&watched);
    let path = folder.path().join("context.toml");
    std::fs::write(&path, "token = \"orion_1\"").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let open = look(&watched);
    assert_eq!(changes(&before, &open), ["+ ~/context.toml"]);
    assert_eq!(open_secrets(&before, &open), ["others may read the secret in ~/context.toml"]);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let closed = look(&watched);
    assert_eq!(changes(&open, &closed), ["~ ~/context.toml (private)"]);
    assert_eq!(open_secrets(&open, &closed), Vec::<String>::new());
}
