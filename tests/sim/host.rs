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
