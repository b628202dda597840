//! Brings the write-ahead log to the disk, and moves its pages into the main file, beside the writer, so that no call
//! waits for the disk because of earlier calls.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::sqlite;

/// The number of commits after which the log is moved.
const EVERY: u32 = 256;
/// The number of commits after which the log is brought to the disk. A commit that has to survive a power cut waits for all
/// commits before it as well; this leaves it few.
const FLUSH_EVERY: u32 = 16;
/// The limit of the log, in 4 KiB pages, after which the writer moves it itself: a bound in case this task
/// cannot keep up.
pub(super) const MAX_LOG_PAGES: &str = "20000";

/// Counts commits and wakes the two tasks.
#[derive(Debug)]
pub(super) struct Checkpoints {
    commits: u32,
    move_due: Arc<Notify>,
    flush_due: Arc<Notify>,
}

impl Checkpoints {
    /// Starts the tasks, which end with `stop`.
    pub(super) fn start(path: &Path, stop: CancellationToken) -> Self {
        let (move_due, flush_due) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        tokio::spawn(move_pages(path.to_owned(), Arc::clone(&move_due), stop.clone()));
        tokio::spawn(flush_pages(path.to_owned(), Arc::clone(&flush_due), stop));
        Self { commits: 0, move_due, flush_due }
    }

    /// Counts one more commit.
    pub(super) fn committed(&mut self) {
        self.commits = (self.commits + 1) % EVERY;
        if self.commits == 0 {
            self.move_due.notify_one();
        }
        if self.commits.is_multiple_of(FLUSH_EVERY) {
            self.flush_due.notify_one();
        }
    }
}

async fn move_pages(path: PathBuf, due: Arc<Notify>, stop: CancellationToken) {
    while stop.run_until_cancelled(due.notified()).await.is_some() {
        // PASSIVE moves what it can and blocks nobody.
        let moved = async {
            let mut connection = sqlite::writing(&path).await?;
            connection.command("PRAGMA wal_checkpoint(PASSIVE)").await
        };
        if let Err(error) = moved.await {
            tracing::warn!(%error, "the database's log could not be moved; it is tried again");
        }
    }
}

async fn flush_pages(path: PathBuf, due: Arc<Notify>, stop: CancellationToken) {
    let mut log = OsString::from(path);
    log.push("-wal");
    let log = PathBuf::from(log);
    while stop.run_until_cancelled(due.notified()).await.is_some() {
        let log = log.clone();
        // SQLite keeps its locks on other files, so that closing this one releases none.
        let flushed = tokio::task::spawn_blocking(move || match File::open(log) {
            Ok(log) => log.sync_data(),
            // The last connection removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        });
        if let Ok(Err(error)) = flushed.await {
            tracing::warn!(%error, "the database's log could not be brought to the disk ahead of time");
        }
    }
}
