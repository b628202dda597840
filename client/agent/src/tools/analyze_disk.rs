//! Executes `analyze_disk`.

use std::cmp::Reverse;

use orion_catalog::tools::analyze_disk::{AnalyzeDisk, Arguments, Large, Returns};
use orion_domain::{DevicePath, ToolError};

use super::counted::counted;
use super::list_directory::folder;
use super::{FileContext, FileTool, Outcome};
use crate::roots::FileKind;
use crate::scan::{Bounds, Entry, Firsts, Folder, Visitor, scan};

const MAX_LARGE: usize = 20;
const UNIT_BYTES: u64 = 1024 * 1024;

impl FileTool for AnalyzeDisk {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let start = folder(&arguments.path, context)?;
        let threshold = arguments.threshold_mb.saturating_mul(UNIT_BYTES);
        let (sums, missed) =
            scan(&start, Bounds::new(true), context, || Sums::new(&start.asked, threshold))?;
        let mut whole = Sums::new(&start.asked, threshold);
        sums.into_iter().for_each(|sums| whole.merge(sums));
        let path = start.asked.to_string();
        let truncated = missed.cut || missed.unread > 0 || whole.unread;
        let entries = whole.entries;
        let note = if truncated { "; some of it could not be looked at" } else { "" };
        let message = format!(
            "{path}: {} in {}{note}.",
            counted(whole.bytes, "byte"),
            counted(entries, "entry")
        );
        let data = Returns {
            path,
            directories: whole.folders.into_sorted().0,
            files: whole.files.into_sorted().0,
            total_bytes: whole.bytes,
            entries,
            truncated,
        };
        Ok(Outcome::new(message, data).cut(truncated))
    }
}

/// Ordered by size, the largest first, then by path.
type Largest = Firsts<(Reverse<u64>, String), Large>;

struct Sums<'a> {
    start: &'a DevicePath,
    /// Minimum size of a listed file or folder, in bytes.
    threshold: u64,
    folders: Largest,
    files: Largest,
    bytes: u64,
    entries: u64,
    unread: bool,
}

impl<'a> Sums<'a> {
    fn new(start: &'a DevicePath, threshold: u64) -> Self {
        let firsts = || Firsts::new(MAX_LARGE, usize::MAX);
        let (folders, files) = (firsts(), firsts());
        Self { start, threshold, folders, files, bytes: 0, entries: 0, unread: false }
    }

    fn merge(&mut self, other: Self) {
        self.folders.merge(other.folders);
        self.files.merge(other.files);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.entries += other.entries;
        self.unread |= other.unread;
    }
}

impl Visitor for Sums<'_> {
    fn wants(&self, _: &str, what: FileKind) -> bool {
        matches!(what, FileKind::File | FileKind::Folder)
    }

    fn visit(&mut self, entry: &Entry<'_>) {
        self.entries += 1;
        if entry.what != FileKind::File {
            return;
        }
        let Some(metadata) = entry.metadata() else {
            self.unread = true;
            return;
        };
        let size_bytes = metadata.len();
        self.bytes = self.bytes.saturating_add(size_bytes);
        entry.folder.add(size_bytes);
        if size_bytes < self.threshold {
            return;
        }
        let Some(key) = self.files.admit((Reverse(size_bytes), entry.key())) else { return };
        let Some(path) = entry.path() else { return };
        self.files.put(key, 0, Large { path: path.to_string(), size_bytes });
    }

    fn leave(&mut self, folder: &Folder) {
        let size_bytes = folder.tally();
        if size_bytes < self.threshold || folder.depth == 0 {
            return;
        }
        let key = (Reverse(size_bytes), folder.key().to_owned());
        let Some(key) = self.folders.admit(key) else { return };
        let Some(path) = folder.path(self.start) else { return };
        self.folders.put(key, 0, Large { path: path.to_string(), size_bytes });
    }
}

#[cfg(test)]
mod tests;
