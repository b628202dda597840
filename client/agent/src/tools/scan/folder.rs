//! Where a scan is.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::Metadata;
use orion_domain::DevicePath;

use super::{Handle, joined};
use crate::roots::{FileKind, Located, Roots};

/// A folder that a scan goes through.
#[derive(Debug)]
pub(in crate::tools) struct Folder {
    /// The names from the start to it, each with a NUL behind it. Compared as text, paths in this
    /// form stand in the order of their names, a folder before what is in it.
    key: String,
    /// How many folders it lies below the start.
    pub(in crate::tools) depth: usize,
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

    /// Counts something for this folder, and so for all that it lies in.
    pub(in crate::tools) fn add(&self, count: u64) {
        self.tally.fetch_add(count, Ordering::Relaxed);
    }

    /// What was counted for it and, once it is left, for all below it.
    pub(in crate::tools) fn tally(&self) -> u64 {
        self.tally.load(Ordering::Relaxed)
    }

    /// The folder above, which is told what was counted here.
    pub(super) fn into_above(self) -> Option<Arc<Self>> {
        let tally = self.tally();
        if let Some(above) = &self.above {
            above.add(tally);
        }
        self.above
    }

    /// Its path below a start; none when no path of this device can name it.
    pub(in crate::tools) fn path(&self, start: &DevicePath) -> Option<DevicePath> {
        joined(start, self.key.split_terminator('\0'))
    }

    /// Where it stands in the order of paths.
    pub(in crate::tools) fn key(&self) -> &str {
        self.key.strip_suffix('\0').unwrap_or(&self.key)
    }
}

/// A folder's paths, made when they are first wanted.
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

    /// Where it really is.
    fn real(&self) -> Option<&DevicePath> {
        if self.start.real == self.start.asked {
            return self.asked();
        }
        self.real.get_or_init(|| self.folder.path(&self.start.real)).as_ref()
    }

    /// Whether something here is kept out. What cannot be judged is.
    pub(super) fn hides(&self, roots: &Roots, name: &str) -> bool {
        let join = |folder: Option<&DevicePath>| folder?.join(name).ok();
        let (Some(asked), Some(real)) = (join(self.asked()), join(self.real())) else {
            return true;
        };
        roots.hides(&self.start.root, &real) || (asked != real && roots.denies(&asked))
    }
}

/// One name that a scan came by. A link is never followed.
pub(in crate::tools) struct Entry<'a> {
    pub(super) handle: &'a Handle,
    /// The folder that holds it.
    pub(in crate::tools) folder: &'a Folder,
    pub(super) place: &'a Place<'a>,
    /// Its name there.
    pub(in crate::tools) name: &'a str,
    /// What it is.
    pub(in crate::tools) what: FileKind,
}

impl Entry<'_> {
    /// Where it stands in the order of paths.
    pub(in crate::tools) fn key(&self) -> String {
        let mut key = String::with_capacity(self.folder.key.len() + self.name.len());
        key.push_str(&self.folder.key);
        key.push_str(self.name);
        key
    }

    /// The names from the start to it.
    pub(in crate::tools) fn below(&self) -> impl Iterator<Item = &str> {
        self.folder.key.split_terminator('\0').chain([self.name])
    }

    /// Its path; none when no path of this device can name it.
    pub(in crate::tools) fn path(&self) -> Option<DevicePath> {
        self.place.asked()?.join(self.name).ok()
    }

    /// Its metadata; none when it has gone in the meantime, or something else has its name.
    pub(in crate::tools) fn metadata(&self) -> Option<Metadata> {
        let metadata = self.handle.dir.symlink_metadata(self.name).ok()?;
        (FileKind::of(metadata.file_type()) == self.what).then_some(metadata)
    }
}
