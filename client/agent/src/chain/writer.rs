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
use super::file::{FILE, OLDER, begin, sync_folder};

/// From which size on a new file is begun, in bytes.
const MOST_BYTES: u64 = 8 * 1024 * 1024;
/// How many entries are written at once.
const MOST_AT_ONCE: usize = 256;

struct Line {
    head: AuditHead,
    text: String,
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
        let disk = Disk {
            folder: folder.to_owned(),
            device: device.to_owned(),
            file,
            bytes,
            most: MOST_BYTES,
        };
        let thread = std::thread::Builder::new()
            .name("chain".to_owned())
            .spawn(move || write_all(disk, &queue, &told))?;
        Ok((Self { lines, thread }, written))
    }

    pub(super) fn write(&self, head: AuditHead, text: String) {
        // Where the thread has failed it has said so.
        drop(self.lines.send(Line { head, text }));
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
    pub(super) folder: PathBuf,
    pub(super) device: String,
    pub(super) file: File,
    pub(super) bytes: u64,
    pub(super) most: u64,
}

fn write_all(mut disk: Disk, queue: &mpsc::Receiver<Line>, told: &watch::Sender<Written>) {
    while let Ok(Line { mut head, text }) = queue.recv() {
        let mut text = text.into_bytes();
        for line in queue.try_iter().take(MOST_AT_ONCE) {
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
    /// Writes and forces to disk. What was written in part is cut off again.
    pub(super) fn write(&mut self, text: &[u8], head: AuditHead) -> io::Result<()> {
        let written = self.file.write_all(text).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            self.file.set_len(self.bytes).ok();
            return Err(error);
        }
        self.bytes += text.len() as u64;
        if self.bytes >= self.most
            && let Err(error) = self.rotate(head)
        {
            tracing::warn!(%error, "the device's audit could not begin a new file; the one before grows on");
        }
        Ok(())
    }

    /// Begins a new file that goes on from here; the one before stays beside it.
    fn rotate(&mut self, head: AuditHead) -> io::Result<()> {
        let current = self.folder.join(FILE);
        let older = self.folder.join(OLDER);
        // Linked, not moved: at no moment is there no file to go on with.
        if let Err(error) = fs::remove_file(&older)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        fs::hard_link(&current, &older)?;
        sync_folder(&self.folder)?;
        let (file, bytes) = begin(&self.folder, &ChainHeader::new(&self.device, head))?;
        self.file = file;
        self.bytes = bytes;
        Ok(())
    }
}
