//! Moves committed pages from the write-ahead log into the main file, on a separate connection, so that no
//! call waits for the disk because of earlier calls.

use std::sync::Arc;

use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The number of commits after which the log is moved.
const EVERY: u32 = 256;
/// The limit of the log, in 4 KiB pages, after which the writer moves it itself: a bound in case this task
/// cannot keep up.
pub(in crate::store) const MOST_PAGES: &str = "20000";

/// Counts commits and wakes the task.
#[derive(Debug)]
pub(super) struct Checkpoints {
    commits: u32,
    due: Arc<Notify>,
}

impl Checkpoints {
    /// Starts the task, which ends with `stop`.
    pub(super) fn start(options: SqliteConnectOptions, stop: CancellationToken) -> Self {
        let due = Arc::new(Notify::new());
        let woken = Arc::clone(&due);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = woken.notified() => {}
                }
                // PASSIVE moves what it can and blocks nobody.
                let moved = async {
                    let mut connection = options.connect().await?;
                    sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&mut connection).await
                };
                if let Err(error) = moved.await {
                    tracing::warn!(%error, "the record's log could not be moved; it is tried again");
                }
            }
        });
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
