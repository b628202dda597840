//! Moves committed pages from the write-ahead log into the main file, on a separate connection, so that no
//! call waits for the disk because of earlier calls.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::sqlite;

/// The number of commits after which the log is moved.
const EVERY: u32 = 256;
/// The limit of the log, in 4 KiB pages, after which the writer moves it itself: a bound in case this task
/// cannot keep up.
pub(super) const MAX_LOG_PAGES: &str = "20000";

/// Counts commits and wakes the task.
#[derive(Debug)]
pub(super) struct Checkpoints {
    commits: u32,
    due: Arc<Notify>,
}

impl Checkpoints {
    /// Starts the task, which ends with `stop`.
    pub(super) fn start(path: &Path, stop: CancellationToken) -> Self {
        let due = Arc::new(Notify::new());
        tokio::spawn(run(path.to_owned(), Arc::clone(&due), stop));
        Self { commits: 0, due }
    }

    /// Counts one more commit.
    pub(super) fn committed(&mut self) {
        self.commits += 1;
        if self.commits >= EVERY {
            self.commits = 0;
            self.due.notify_one();
        }
    }
}

async fn run(path: PathBuf, due: Arc<Notify>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = due.notified() => {}
        }
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
