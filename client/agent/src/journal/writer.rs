//! The thread that writes the journal. It writes all waiting entries at once, and syncs once for every
//! call that waits for it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use tokio::sync::{mpsc, oneshot};

use super::JournalError;
use super::entry::{Loaded, read_all};
use crate::owner_file::sync_folder;

/// The most entries that may wait. Far more than calls run at once, so that the queue is full only if the
/// disk hangs.
const QUEUE: usize = 256;
/// The largest journal that is read, in bytes: several times the largest that is written.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

type Answer = oneshot::Sender<Result<(), JournalError>>;
/// Receives `Ok` when a line is in the file or on disk, as requested.
pub type Written = oneshot::Receiver<Result<(), JournalError>>;

/// A command for the thread.
#[doc(hidden)]
#[derive(Debug)]
pub enum Command {
    /// Appends a line; `written` is answered when it is in the file, `synced` when it is on disk.
    Append { line: Vec<u8>, written: Option<Answer>, synced: Option<Answer> },
    /// Replaces the whole file.
    Rewrite { text: Vec<u8> },
}

/// The handle of the thread.
#[derive(Debug)]
pub(super) struct Writer {
    commands: mpsc::Sender<Command>,
    /// None in a simulation.
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Opens the file, cuts off a torn end, and starts the thread.
    pub(super) fn open(path: &Path) -> Result<(Self, Loaded), JournalError> {
        let failed = |error: &io::Error| JournalError::Open {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let (file, loaded) = load(path).map_err(|error| failed(&error))?;
        let (commands, queue) = mpsc::channel(QUEUE);
        let store = Store { file, path: path.to_owned(), len: loaded.bytes, broken: None };
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || {
                write_all(store, queue);
            })
            .map_err(|error| failed(&error))?;
        Ok((Self { commands, thread: Some(thread) }, loaded))
    }

    /// Creates a writer without a thread; the simulation receives the commands.
    pub(super) fn simulated() -> (Self, mpsc::Receiver<Command>) {
        let (commands, queue) = mpsc::channel(QUEUE);
        (Self { commands, thread: None }, queue)
    }

    /// Appends a line; the receiver is answered when the line is on disk.
    pub(super) async fn append_synced(&self, line: Vec<u8>) -> Written {
        let (synced, answer) = oneshot::channel();
        // If the thread has ended, the command is dropped, and the receiver gets an error.
        let command = Command::Append { line, written: None, synced: Some(synced) };
        drop(self.commands.send(command).await);
        answer
    }

    /// Appends a line; the receiver is answered when the line is in the file. There it survives this
    /// process, but not yet a power cut.
    pub(super) async fn append_written(&self, line: Vec<u8>) -> Written {
        let (written, answer) = oneshot::channel();
        let command = Command::Append { line, written: Some(written), synced: None };
        drop(self.commands.send(command).await);
        answer
    }

    /// Appends a line without an answer.
    pub(super) async fn append(&self, line: Vec<u8>) {
        drop(self.commands.send(Command::Append { line, written: None, synced: None }).await);
    }

    /// Replaces the whole file.
    pub(super) async fn rewrite(&self, text: Vec<u8>) {
        drop(self.commands.send(Command::Rewrite { text }).await);
    }

    /// Waits until the thread has finished its queue, and joins it.
    pub(super) async fn close(self) {
        drop(self.commands);
        let Some(thread) = self.thread else { return };
        let joined = tokio::task::spawn_blocking(|| thread.join()).await;
        if !matches!(joined, Ok(Ok(()))) {
            tracing::error!("the journal's thread did not end as it should");
        }
    }
}

/// Creates the file with this line if there is none.
pub(super) fn create(path: &Path, line: &[u8]) -> Result<(), JournalError> {
    let made = || -> io::Result<()> {
        if path.try_exists()? {
            return Ok(());
        }
        // Written under another name until it is complete: an empty file would mean that nothing was lost.
        let new = path.with_extension("new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&new)?;
        file.write_all(line)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        sync_name(path)
    };
    made().map_err(|error| JournalError::Open { path: path.to_owned(), reason: error.to_string() })
}

fn load(path: &Path) -> io::Result<(File, Loaded)> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(io::Error::other("it is not a file of at most 256 MiB"));
    }
    let mut text = Vec::new();
    (&mut file).take(MAX_BYTES).read_to_end(&mut text)?;
    let loaded = read_all(&text);
    if loaded.bytes < text.len() as u64 {
        file.set_len(loaded.bytes)?;
    }
    // The file itself must survive a power cut, or the first entries would be lost with it.
    file.sync_all()?;
    sync_name(path)?;
    Ok((file, loaded))
}

/// The file that the thread writes.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// Length of the intact content, in bytes.
    pub(super) len: u64,
    /// Set when the content on disk is no longer known.
    pub(super) broken: Option<JournalError>,
}

/// Writes until every sender is dropped. Returns the number of syncs.
pub(super) fn write_all(mut store: Store, mut queue: mpsc::Receiver<Command>) -> usize {
    let mut syncs = 0;
    while let Some(first) = queue.blocking_recv() {
        let mut batch = vec![first];
        while batch.len() < QUEUE
            && let Ok(next) = queue.try_recv()
        {
            batch.push(next);
        }
        let (mut text, mut waiting, mut listening) = (Vec::new(), Vec::new(), Vec::new());
        for command in batch {
            match command {
                Command::Append { line, written, synced } => {
                    text.extend(line);
                    listening.extend(written);
                    waiting.extend(synced);
                }
                Command::Rewrite { text: whole } => {
                    // The new text contains the earlier lines of this batch; their answers now wait for
                    // the new file.
                    text.clear();
                    store.rewrite(&whole, &mut text);
                }
            }
        }
        let mut result = store.append(&text);
        for answer in listening {
            drop(answer.send(result.clone()));
        }
        if result.is_ok() && !waiting.is_empty() {
            syncs += 1;
            result = store.sync();
        }
        if let Err(error) = &result {
            tracing::error!(%error, "the journal could not be written");
        }
        for answer in waiting {
            // A call that missed its deadline no longer listens.
            drop(answer.send(result.clone()));
        }
    }
    if let Err(error) = store.sync() {
        tracing::error!(%error, "the journal could not be closed well");
    }
    syncs
}

impl Store {
    fn append(&mut self, text: &[u8]) -> Result<(), JournalError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        match self.file.write_all(text) {
            Ok(()) => {
                self.len += text.len() as u64;
                Ok(())
            }
            // A part may have been written. Cutting it off restores the file.
            Err(error) => match self.file.set_len(self.len) {
                Ok(()) if is_full(&error) => Err(JournalError::DiskFull),
                Ok(()) | Err(_) => Err(self.fail(&error)),
            },
        }
    }

    /// Syncs the file. One failure is final: after it the system may have dropped unwritten data, and
    /// the next sync would succeed without it.
    fn sync(&mut self) -> Result<(), JournalError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        self.file.sync_data().map_err(|error| self.fail(&error))
    }

    fn fail(&mut self, error: &io::Error) -> JournalError {
        let error = JournalError::Broken(error.kind());
        self.broken = Some(error.clone());
        error
    }

    /// Replaces the file by `whole`. If that fails, the old file stays and `whole` is added to `rest`.
    fn rewrite(&mut self, whole: &[u8], rest: &mut Vec<u8>) {
        match replace(&self.path, whole) {
            Ok(file) => {
                self.file = file;
                self.len = whole.len() as u64;
                self.broken = None;
            }
            Err(error) => {
                tracing::warn!(%error, "the journal could not be made smaller");
                // The cleared lines of this batch are in `whole` only.
                rest.extend_from_slice(whole);
            }
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

fn replace(path: &Path, whole: &[u8]) -> io::Result<File> {
    let temporary = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    file.write_all(whole)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    sync_name(path)?;
    OpenOptions::new().append(true).open(path)
}

/// Waits until the name of a file is on the disk.
fn sync_name(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), sync_folder)
}
