//! Where a test's load comes from.

use rustix::process::setpriority_process;
use tokio::runtime::{self, Runtime};

/// Returns where load runs that comes from other machines. On this one it gets the time that neither the backend nor its
/// clients want: without that, what is measured is how this machine shares its cores.
///
/// # Panics
/// The system has no threads left.
#[must_use]
pub fn elsewhere() -> Runtime {
    runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .on_thread_start(|| setpriority_process(None, 19).unwrap())
        .build()
        .unwrap()
}
