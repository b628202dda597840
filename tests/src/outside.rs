//! The files around a granted folder, with marks that must never be seen, and a snapshot that detects every
//! access.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use orion_domain::Digest;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

/// The beginning of every file outside.
const TEXT: &str = "first=line\nCANARY-TEXT-5d1c4e7f\n";
/// A part of their names that no call contains.
const MARK: &str = "mark-83b0fe";
/// The size of every file outside, in bytes.
const SIZE: usize = 48_611;
/// The modification time of every file outside: 2001-02-03T04:05:06Z.
const MODIFIED: i64 = 981_173_106;
/// The access time: before the modification time, so that a mount with `relatime` records the next read.
const READ: i64 = 946_684_800;

/// The files outside a granted folder.
#[derive(Debug)]
pub struct Outside {
    base: PathBuf,
    root: PathBuf,
    marks: Vec<String>,
    content: Vec<u8>,
    seen: BTreeMap<PathBuf, String>,
    elsewhere: BTreeMap<PathBuf, String>,
}

/// Resolves a text from a folder by POSIX rules, in the simplest way: a stack of names, with `..`
/// ignored at the root. Independent of the project's own parser, for comparison.
#[must_use]
pub fn plain_target(from: &Path, text: &str) -> PathBuf {
    let mut target = if text.starts_with('/') { PathBuf::from("/") } else { from.to_owned() };
    for name in text.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(target.pop()),
            name => target.push(name),
        }
    }
    target
}

impl Outside {
    /// Plants files in `base`, in every folder from there down to `root`, and beside it. Of the places
    /// that `texts` resolve to between the two, it plants every other one. What is beneath `root` is
    /// inside, and stays unchanged.
    ///
    /// # Panics
    /// The disk fails.
    #[must_use]
    pub fn plant<'a>(base: &Path, root: &Path, texts: impl IntoIterator<Item = &'a str>) -> Self {
        fs::create_dir_all(root).unwrap();
        let mut content = TEXT.as_bytes().to_vec();
        content.resize(SIZE, b'.');
        let put = |path: &Path| {
            let made = path.parent().is_some_and(|folder| fs::create_dir_all(folder).is_ok());
            made && !path.exists() && fs::write(path, &content).is_ok()
        };
        for folder in root.ancestors().skip(1).take_while(|folder| folder.starts_with(base)) {
            let marked = format!("{MARK}/{MARK}");
            for name in ["{FILE}", "secret.txt", "etc/passwd", "boot.ini", "root2/secret", &marked]
            {
                put(&folder.join(name));
            }
        }
        let (mut targets, mut elsewhere) = (BTreeSet::new(), BTreeMap::new());
        for text in texts {
            let target = plain_target(root, text);
            if target.starts_with(base) && !target.starts_with(root) {
                targets.insert(target);
            } else if !target.starts_with(base) && is_quiet(&target) {
                let state = state(&target);
                elsewhere.insert(target, state);
            }
        }
        for target in targets.iter().step_by(2) {
            put(target);
        }
        let (marks, seen) = (marks(&content), armed(below(base, root)));
        Self { base: base.to_owned(), root: root.to_owned(), marks, content, seen, elsewhere }
    }

    /// Returns the granted folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a mark of the outside that a result contains, if any.
    #[must_use]
    pub fn seen_in(&self, result: &str) -> Option<&str> {
        self.marks.iter().map(String::as_str).find(|mark| result.contains(mark))
    }

    /// Returns every change outside, and everything from outside that is now inside. A mount without
    /// access times cannot show what was only read.
    #[must_use]
    pub fn changes(&mut self) -> Vec<String> {
        // Checked before any folder is listed, because listing changes access times too.
        let mut changes: Vec<String> = self
            .seen
            .iter()
            .map(|(path, before)| (path, before, state(path)))
            .chain(self.elsewhere.iter().map(|(path, before)| (path, before, state(path))))
            .filter(|(_, before, now)| *before != now)
            .map(|(path, before, now)| format!("{}: {before} became {now}", path.display()))
            .collect();
        let paths = below(&self.base, &self.root);
        for path in &paths {
            if !self.seen.contains_key(path) {
                changes.push(format!("{} was made", path.display()));
            } else if content(path).is_some_and(|content| content != self.content) {
                changes.push(format!("{} was written", path.display()));
            }
        }
        for path in below(&self.root, Path::new("")) {
            let held = content(&path).unwrap_or_default();
            let name = path.strip_prefix(&self.root).unwrap().to_string_lossy();
            if held.starts_with(TEXT.as_bytes()) || name.contains(MARK) {
                changes.push(format!("{} came from outside", path.display()));
            }
        }
        // The check itself read the files, so their times are reset for the next one.
        self.seen = armed(paths);
        changes
    }

    /// Returns whether this mount records reads.
    ///
    /// # Panics
    /// Nothing was planted.
    #[must_use]
    pub fn notes_reading(&self) -> bool {
        let probe = self.base.with_file_name("probe-of-reading");
        fs::write(&probe, "x").unwrap();
        drop(armed(BTreeSet::from([probe.clone()])));
        drop(fs::read(&probe).unwrap());
        let noted = fs::metadata(&probe).unwrap().atime() != READ;
        fs::remove_file(&probe).unwrap();
        noted
    }

    /// Empties the granted folder.
    ///
    /// # Panics
    /// It cannot be emptied.
    pub fn clear_root(&self) {
        for entry in fs::read_dir(&self.root).unwrap() {
            let path = entry.unwrap().path();
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                fs::remove_dir_all(&path).unwrap();
            } else {
                fs::remove_file(&path).unwrap();
            }
        }
    }
}

/// Sets the times of all paths back to the past, and returns their metadata.
fn armed(paths: BTreeSet<PathBuf>) -> BTreeMap<PathBuf, String> {
    let time = |tv_sec| Timespec { tv_sec, tv_nsec: 0 };
    let times = Timestamps { last_access: time(READ), last_modification: time(MODIFIED) };
    for path in &paths {
        utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
    }
    paths.into_iter().map(|path| (path.clone(), state(&path))).collect()
}

/// Returns the marks that reveal the outside: its text, also as base64, its names, sizes, times and
/// digests, and the content of the system's own files.
fn marks(content: &[u8]) -> Vec<String> {
    let digest = Digest::of(content).to_string();
    [
        "CANARY-TEXT-5d1c4e7f",
        "Zmlyc3Q9bGluZQpDQU5BUlktVEVYVC01ZDFjNGU3",
        MARK,
        ":48611",
        "2001-02-03T04:05",
        "root:x:0:0:",
        "Linux version ",
        "PRIVATE KEY",
        &digest,
    ]
    .map(str::to_owned)
    .into()
}

/// Returns whether this place changes only by a deliberate write.
fn is_quiet(path: &Path) -> bool {
    let Some(Component::Normal(top)) = path.components().nth(1) else { return false };
    !["proc", "sys", "dev", "run", "tmp"].iter().any(|busy| top == *busy)
        && !path.starts_with("/var/log")
        // Other tests create and remove their folders here.
        && !path.starts_with(std::env::temp_dir())
        && !std::env::temp_dir().starts_with(path)
}

/// Returns all metadata of a path, without opening it.
fn state(path: &Path) -> String {
    match fs::symlink_metadata(path) {
        Ok(it) => format!(
            "mode {:o} owner {}:{} inode {} links {} size {} modified {}.{} changed {}.{} read {}.{}",
            it.permissions().mode(),
            it.uid(),
            it.gid(),
            it.ino(),
            it.nlink(),
            it.size(),
            it.mtime(),
            it.mtime_nsec(),
            it.ctime(),
            it.ctime_nsec(),
            // The system reads its own files.
            if it.mtime() == MODIFIED { it.atime() } else { 0 },
            if it.mtime() == MODIFIED { it.atime_nsec() } else { 0 },
        ),
        Err(error) => error.kind().to_string(),
    }
}

/// Returns the content of a file; `None` for anything else. A link is not followed here either.
fn content(path: &Path) -> Option<Vec<u8>> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|it| it.is_file());
    is_file.then(|| fs::read(path).unwrap())
}

/// Returns every path beneath a folder, itself included, except `except` and what is below it.
fn below(base: &Path, except: &Path) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::from([base.to_owned()]);
    let mut folders = vec![base.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            if path == except {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(path.clone());
            }
            paths.insert(path);
        }
    }
    paths
}
