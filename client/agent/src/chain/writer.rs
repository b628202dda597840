//! The thread that writes the chain: whatever waits at once, forced to disk once, and then told.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;

use orion_audit::device::ChainHeader;
use orion_domain::audit::AuditHead;
use tokio::sync::watch;

use super::Written;
use super::file::{FILE, LARGEST, NEW, OLDER, prepare, sync_folder};
use crate::journal::Written as InJournal;

/// From which size on a new file is begun, in bytes.
const MOST_BYTES: u64 = 8 * 1024 * 1024;
/// How many entries are written at once.
const MOST_AT_ONCE: usize = 256;

/// One entry.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) head: AuditHead,
    pub(super) text: String,
    /// What is to be in the journal first.
    pub(super) after: Option<InJournal>,
}

/// The way to the thread. What waits there is bounded by the chain.
#[derive(Debug)]
pub(super) struct Writer {
    lines: mpsc::Sender<Line>,
    thread: JoinHandle<()>,
}

impl Writer {
    pub(super) fn start(
        folder: &Path,
        device: &str,
        file: File,
        bytes: u64,
        head: AuditHead,
    ) -> io::Result<(Self, watch::Receiver<Written>)> {
        let (lines, queue) = mpsc::channel();
        let (told, written) = watch::channel(Written { head, failed: false });
        let mut disk = Disk::new(folder, device, file, bytes);
        if disk.bytes >= disk.next
            && let Err(error) = disk.rotate(head)
        {
            tracing::warn!(%error, "the device's audit is long and cannot be continued in a new file");
        }
        let thread = std::thread::Builder::new()
            .name("chain".to_owned())
            .spawn(move || write_all(disk, &queue, &told))?;
        Ok((Self { lines, thread }, written))
    }

    pub(super) fn write(&self, line: Line) {
        // Where the thread has failed it has said so.
        drop(self.lines.send(line));
    }

    pub(super) async fn close(self) {
        let Self { lines, thread } = self;
        drop(lines);
        let joined = tokio::task::spawn_blocking(|| thread.join()).await;
        if !matches!(joined, Ok(Ok(()))) {
            tracing::error!("the thread of the device's audit did not end as it should");
        }
    }
}

/// What the thread writes to.
#[derive(Debug)]
pub(super) struct Disk {
    folder: PathBuf,
    device: String,
    file: File,
    bytes: u64,
    /// From which size on a new file is begun, in bytes.
    pub(super) most: u64,
    /// From which size on that is tried the next time.
    pub(super) next: u64,
    /// How large a file may become that no other can follow, in bytes.
    pub(super) largest: u64,
}

fn write_all(mut disk: Disk, queue: &mpsc::Receiver<Line>, told: &watch::Sender<Written>) {
    while let Ok(first) = queue.recv() {
        let (mut head, mut text) = (first.head, Vec::new());
        for line in std::iter::once(first).chain(queue.try_iter().take(MOST_AT_ONCE)) {
            // A journal that cannot be written says so by itself, and what ended is noted all the same.
            drop(line.after.map(InJournal::blocking_recv));
            head = line.head;
            text.extend(line.text.into_bytes());
        }
        match disk.write(&text, head) {
            Ok(()) => drop(told.send(Written { head, failed: false })),
            Err(error) => {
                tracing::error!(%error, "the device's audit can't be written; restart the agent when the disk is well");
                told.send_modify(|written| written.failed = true);
                return;
            }
        }
    }
}

impl Disk {
    pub(super) fn new(folder: &Path, device: &str, file: File, bytes: u64) -> Self {
        Self {
            folder: folder.to_owned(),
            device: device.to_owned(),
            file,
            bytes,
            most: MOST_BYTES,
            next: MOST_BYTES,
            largest: LARGEST,
        }
    }

    /// Writes and forces to disk. What was written in part is cut off again.
    pub(super) fn write(&mut self, text: &[u8], head: AuditHead) -> io::Result<()> {
        let length = self.bytes.saturating_add(text.len() as u64);
        if length > self.largest {
            let why = "the file is full, and no new one could be begun";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        let written = self.file.write_all(text).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            self.file.set_len(self.bytes).ok();
            return Err(error);
        }
        self.bytes = length;
        if self.bytes >= self.next
            && let Err(error) = self.rotate(head)
        {
            tracing::warn!(%error, "the device's audit could not begin a new file; the one before grows on");
        }
        Ok(())
    }

    /// Begins a new file that goes on from here; the one before stays beside it. Each step is on disk before
    /// the next, so that no entry is ever under none of the names that are read.
    fn rotate(&mut self, head: AuditHead) -> io::Result<()> {
        self.next = self.bytes.saturating_add(self.most / 8);
        let (file, bytes) = prepare(&self.folder, &ChainHeader::new(&self.device, head))?;
        if let Err(error) = fs::rename(self.folder.join(FILE), self.folder.join(OLDER))
            // The last time it came as far as this.
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        sync_folder(&self.folder)?;
        fs::rename(self.folder.join(NEW), self.folder.join(FILE))?;
        (self.file, self.bytes, self.next) = (file, bytes, self.most);
        sync_folder(&self.folder)
    }
}
