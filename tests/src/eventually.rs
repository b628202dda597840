//! Waits for a condition, with a timeout.

use std::time::Duration;

use tokio::time::Instant;

/// The timeout; far longer than needed, for machines that are busy.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// The interval between two polls.
const INTERVAL: Duration = Duration::from_millis(10);

/// Polls until there is a value, and returns it.
///
/// # Panics
/// There was none for [`PATIENCE`].
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
