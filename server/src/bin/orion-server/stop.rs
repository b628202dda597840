//! What stops a running backend: a signal, or the end of standard input.

use std::io::Read as _;

use tokio_util::sync::CancellationToken;

/// Stops the backend on an interrupt, and on Unix when it is told to terminate.
pub(super) fn stop_on_signal(shutdown: CancellationToken) -> anyhow::Result<()> {
    #[cfg(unix)]
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::spawn(async move {
        #[cfg(unix)]
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        #[cfg(not(unix))]
        tokio::signal::ctrl_c().await.ok();
        shutdown.cancel();
    });
    Ok(())
}

/// Stops the backend when standard input ends. The thread that reads it ends with the process.
pub(super) fn stop_with_stdin(shutdown: CancellationToken) {
    std::thread::spawn(move || {
        let mut buffer = [0; 256];
        while matches!(std::io::stdin().read(&mut buffer), Ok(read) if read > 0) {}
        shutdown.cancel();
    });
}
