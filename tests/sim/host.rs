//! One machine: a runtime on this very thread whose clock stands still until it is moved.

use std::sync::mpsc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio::time::advance;

/// How often whatever can go on is let go on. Between two, all that is ready runs.
const TURNS: usize = 8;

/// See the module. Dropped, everything on it is gone, as after `kill -9`.
#[derive(Debug)]
pub(crate) struct Host {
    runtime: Option<Runtime>,
    /// A paused clock of tokio moves by itself where a runtime has nothing to do but wait, be it for a
    /// thread of SQLite. While a blocking task lives it does not; this one lives as long as the host.
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

    /// Does this to its end, whatever else it has to wait for.
    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime().block_on(work)
    }

    /// Lets whatever can go on without anything new go on.
    pub(crate) fn turn(&self) {
        self.run(async {
            for _ in 0..TURNS {
                yield_now().await;
            }
        });
    }

    /// Moves the clock.
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

    /// Opens a record in memory, which a thread of SQLite does at once.
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
