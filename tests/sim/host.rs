//! One machine: a runtime on the current thread whose clock only moves on request.

use std::sync::mpsc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio::time::advance;

/// How many times all ready tasks are run.
const TURNS: usize = 8;

/// A simulated machine. Dropping it ends everything on it, as `kill -9` does.
#[derive(Debug)]
pub(crate) struct Host {
    runtime: Option<Runtime>,
    /// Tokio's paused clock advances by itself when a runtime is idle, even while it waits for a thread
    /// of SQLite. A live blocking task prevents that; this one lives as long as the host.
    still: Option<mpsc::Sender<()>>,
}

impl Host {
    pub(crate) fn new() -> Self {
        let runtime =
            Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let (still, end) = mpsc::channel();
        runtime.spawn_blocking(move || end.recv().is_ok());
        Self { runtime: Some(runtime), still: Some(still) }
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is there until it is dropped")
    }

    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime().spawn(work));
    }

    /// Runs a future to its end, whatever it waits for.
    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime().block_on(work)
    }

    /// Runs all tasks that can progress without new events.
    pub(crate) fn turn(&self) {
        self.run(async {
            for _ in 0..TURNS {
                yield_now().await;
            }
        });
    }

    /// Advances the clock.
    pub(crate) fn advance(&self, by: Duration) {
        self.run(advance(by));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.still.take());
        drop(self.runtime.take());
    }
}

#[cfg(test)]
mod tests {
    use sqlx::ConnectOptions as _;
    use sqlx::sqlite::SqliteConnectOptions;
    use tokio::time::{error::Elapsed, timeout};

    use super::*;

    /// Opens a database in memory, which a thread of SQLite does at once.
    async fn an_hour_for_sqlite() -> Result<(), Elapsed> {
        let memory = SqliteConnectOptions::new().filename(":memory:");
        let opened = timeout(Duration::from_hours(1), memory.connect()).await;
        opened.map(|opened| drop(opened.unwrap()))
    }

    #[test]
    fn a_paused_clock_runs_on_while_sqlite_works_and_a_hosts_does_not() {
        let paused = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let late = (0..20).filter(|_| paused.block_on(an_hour_for_sqlite()).is_err()).count();
        assert!(late > 0, "the clock waited for the thread each time");
        let host = Host::new();
        let late = (0..20).filter(|_| host.run(an_hour_for_sqlite()).is_err()).count();
        assert_eq!(late, 0);
    }
}
