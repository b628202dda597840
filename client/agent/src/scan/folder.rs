//! Position of a scan: its folders and entries.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::Metadata;
use orion_domain::DevicePath;

use super::{Handle, joined};
use crate::roots::{FileKind, Located, Roots};

/// A folder in a scan.
#[derive(Debug)]
pub(crate) struct Folder {
    /// The names from the start to the folder, each followed by NUL. Sorted as text, such paths are in the
    /// order of their names, a folder before its contents.
    key: String,
    /// Depth below the start, in folders.
    pub(crate) depth: usize,
    above: Option<Arc<Folder>>,
    tally: AtomicU64,
}

impl Folder {
    pub(super) fn start() -> Self {
        Self { key: String::new(), depth: 0, above: None, tally: AtomicU64::new(0) }
    }

    pub(super) fn below(above: Arc<Self>, name: &str) -> Self {
        let mut key = String::with_capacity(above.key.len() + name.len() + 1);
        key.push_str(&above.key);
        key.push_str(name);
        key.push('\0');
        let depth = above.depth + 1;
        Self { key, depth, above: Some(above), tally: AtomicU64::new(0) }
    }

    /// Adds to the tally of the folder, and so of all folders above.
    pub(crate) fn add(&self, count: u64) {
        self.tally.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns the tally of the folder. Includes everything below once the scan has left the folder.
    pub(crate) fn tally(&self) -> u64 {
        self.tally.load(Ordering::Relaxed)
    }

    /// Adds the tally to the folder above, and returns that folder.
    pub(super) fn into_above(self) -> Option<Arc<Self>> {
        let tally = self.tally();
        if let Some(above) = &self.above {
            above.add(tally);
        }
        self.above
    }

    /// Returns the path below a start. `None` if this device has no such path.
    pub(crate) fn path(&self, start: &DevicePath) -> Option<DevicePath> {
        joined(start, self.key.split_terminator('\0'))
    }

    /// Returns the sort key among paths.
    pub(crate) fn key(&self) -> &str {
        self.key.strip_suffix('\0').unwrap_or(&self.key)
    }
}

/// A folder's paths, computed on first use.
pub(super) struct Place<'a> {
    start: &'a Located,
    folder: &'a Folder,
    asked: OnceCell<Option<DevicePath>>,
    real: OnceCell<Option<DevicePath>>,
}

impl<'a> Place<'a> {
    pub(super) fn new(start: &'a Located, folder: &'a Folder) -> Self {
        Self { start, folder, asked: OnceCell::new(), real: OnceCell::new() }
    }

    fn asked(&self) -> Option<&DevicePath> {
        self.asked.get_or_init(|| self.folder.path(&self.start.asked)).as_ref()
    }

    /// Returns the resolved path.
    fn real(&self) -> Option<&DevicePath> {
        if self.start.real == self.start.asked {
            return self.asked();
        }
        self.real.get_or_init(|| self.folder.path(&self.start.real)).as_ref()
    }

    /// Returns whether an entry in the folder is denied. An entry that cannot be evaluated is.
    pub(super) fn hides(&self, roots: &Roots, name: &str) -> bool {
        let join = |folder: Option<&DevicePath>| folder?.join(name).ok();
        let (Some(asked), Some(real)) = (join(self.asked()), join(self.real())) else {
            return true;
        };
        roots.hides_entry(&self.start.root, &asked, &real)
    }
}

/// One name found by a scan. Links are never followed.
pub(crate) struct Entry<'a> {
    pub(super) handle: &'a Handle,
    /// The folder that holds the entry.
    pub(crate) folder: &'a Folder,
    pub(super) place: &'a Place<'a>,
    /// The name.
    pub(crate) name: &'a str,
    /// The kind of the entry.
    pub(crate) what: FileKind,
}

impl Entry<'_> {
    /// Returns the sort key among paths.
    pub(crate) fn key(&self) -> String {
        let mut key = String::with_capacity(self.folder.key.len() + self.name.len());
        key.push_str(&self.folder.key);
        key.push_str(self.name);
        key
    }

    /// Returns the names from the start to the entry.
    pub(crate) fn below(&self) -> impl Iterator<Item = &str> {
        self.folder.key.split_terminator('\0').chain([self.name])
    }

    /// Returns the path. `None` if this device has no such path.
    pub(crate) fn path(&self) -> Option<DevicePath> {
        self.place.asked()?.join(self.name).ok()
    }

    /// Returns the metadata. `None` if the entry is gone or replaced by another kind.
    pub(crate) fn metadata(&self) -> Option<Metadata> {
        let metadata = self.handle.dir.symlink_metadata(self.name).ok()?;
        (FileKind::of(metadata.file_type()) == self.what).then_some(metadata)
    }
}
