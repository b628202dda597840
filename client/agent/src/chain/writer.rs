//! The thread that writes the chain. It writes all waiting entries at once, syncs once, and then reports
//! the new head.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;

use orion_audit::device::ChainHeader;
use orion_domain::audit::AuditHead;
use tokio::sync::watch;

use super::Written;
use super::file::{LARGEST, prepare};
use crate::journal::Written as InJournal;
use crate::owner_file::sync_folder;
use crate::state::names::{AUDIT, AUDIT_NEW, AUDIT_OLDER};

/// The size at which the file is rotated, in bytes.
const ROTATE_BYTES: u64 = 8 * 1024 * 1024;
/// The most entries that are written at once.
const MAX_BATCH: usize = 256;

/// One entry.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) head: AuditHead,
    pub(super) text: String,
    /// The journal line that must be written first. None if the call has none.
    pub(super) after: Option<InJournal>,
}

/// The handle of the thread. The chain bounds how many entries wait.
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
        let (report, written) = watch::channel(Written { head, failed: false });
        let mut disk = Disk::new(folder, device, file, bytes);
        if disk.bytes >= disk.next
            && let Err(error) = disk.rotate(head)
        {
            tracing::warn!(%error, "the device's audit is long and cannot be continued in a new file");
        }
        let thread = std::thread::Builder::new()
            .name("chain".to_owned())
            .spawn(move || write_all(disk, &queue, &report))?;
        Ok((Self { lines, thread }, written))
    }

    pub(super) fn write(&self, line: Line) {
        // A thread that failed has reported it.
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

/// The file that the thread writes.
#[derive(Debug)]
pub(super) struct Disk {
    folder: PathBuf,
    device: String,
    file: File,
    bytes: u64,
    /// The size at which the file is rotated, in bytes.
    pub(super) most: u64,
    /// The size at which the next rotation is attempted, in bytes.
    pub(super) next: u64,
    /// The largest size of a file whose rotation fails, in bytes.
    pub(super) largest: u64,
}

fn write_all(mut disk: Disk, queue: &mpsc::Receiver<Line>, report: &watch::Sender<Written>) {
    while let Ok(first) = queue.recv() {
        let (mut head, mut text) = (first.head, Vec::new());
        for line in std::iter::once(first).chain(queue.try_iter().take(MAX_BATCH)) {
            // The journal reports its own write errors; the call's end is recorded in either case.
            drop(line.after.map(InJournal::blocking_recv));
            head = line.head;
            text.extend(line.text.into_bytes());
        }
        match disk.write(&text, head) {
            Ok(()) => drop(report.send(Written { head, failed: false })),
            Err(error) => {
                tracing::error!(%error, "the device's audit can't be written; restart the agent when the disk is well");
                report.send_modify(|written| written.failed = true);
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
            most: ROTATE_BYTES,
            next: ROTATE_BYTES,
            largest: LARGEST,
        }
    }

    /// Appends and syncs the text. After an error, a partly written text is cut off again.
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

    /// Rotates: a new file continues the chain, and the full one becomes the older file. Each step is on disk
    /// before the next, so that every entry is always under a name that readers look at.
    fn rotate(&mut self, head: AuditHead) -> io::Result<()> {
        self.next = self.bytes.saturating_add(self.most / 8);
        let (file, bytes) = prepare(&self.folder, &ChainHeader::new(&self.device, head))?;
        if let Err(error) = fs::rename(self.folder.join(AUDIT), self.folder.join(AUDIT_OLDER))
            // The previous attempt came as far as this.
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        sync_folder(&self.folder)?;
        fs::rename(self.folder.join(AUDIT_NEW), self.folder.join(AUDIT))?;
        (self.file, self.bytes, self.next) = (file, bytes, self.most);
        sync_folder(&self.folder)
    }
}
