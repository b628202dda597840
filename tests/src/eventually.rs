//! Waiting for something to become true, with an end to the patience.

use std::time::Duration;

use tokio::time::Instant;

/// How long anything may take; far longer than it does, for machines that are busy.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How often to look.
const INTERVAL: Duration = Duration::from_millis(10);

/// Looks until there is something to see, and gives it.
///
/// # Panics
/// There was nothing for [`PATIENCE`].
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(Instant::now() < deadline, "{what}: still not after {PATIENCE:?}");
        tokio::time::sleep(INTERVAL).await;
    }
}
