//! Stops a backend in order: calls end first, then connections, then the other work.

use std::sync::Arc;
use std::time::Duration;

use crate::backend::Backend;

/// How long work in progress may take when the backend stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// How long devices wait on average before they reconnect when the backend stops.
const RECONNECT_DELAY: Duration = Duration::from_secs(1);

/// Lets work in progress end, once shutdown is requested.
#[doc(hidden)]
pub async fn close(backend: Arc<Backend>) {
    backend.tasks.shutdown.cancelled().await;
    backend.tasks.calls.close();
    let calls = backend.tasks.calls.len();
    tracing::info!(calls, "stopping; calls have {} s to end", DRAIN_TIMEOUT.as_secs());
    if tokio::time::timeout(DRAIN_TIMEOUT, backend.tasks.calls.wait()).await.is_err() {
        tracing::warn!(
            "some calls did not end in time; their outcome is reported at the next start"
        );
    }
    backend.fleet.drain(RECONNECT_DELAY);
    backend.tasks.closing.cancel();
    backend.tasks.background.close();
    if tokio::time::timeout(DRAIN_TIMEOUT, backend.tasks.background.wait()).await.is_err() {
        tracing::warn!("some work did not end in time");
    }
}
