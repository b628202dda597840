//! A signal that would end a worker in the middle of a change.

use std::io;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

/// Handles `SIGXFSZ`, so that under a file size limit only the write fails. Holds for as long as what is
/// returned.
pub(super) fn survive_large_files() -> io::Result<Runtime> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    {
        let _inside = runtime.enter();
        let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        drop(signal(kind)?);
    }
    Ok(runtime)
}
