//! The tasks of a backend, and the two stages in which they end.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::store::StoreError;

/// The tasks of a backend. A clone is a handle to the same tasks.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    /// Calls in flight: they may end before anything is closed.
    pub calls: TaskTracker,
    /// Other tasks that must end before the process does.
    pub background: TaskTracker,
    /// Cancelled when the backend stops: no new work starts.
    pub shutdown: CancellationToken,
    /// Cancelled when the calls have had their time: streams end.
    pub closing: CancellationToken,
}

impl Tasks {
    /// Returns no tasks; they stop when `shutdown` is cancelled.
    #[must_use]
    pub fn new(shutdown: CancellationToken) -> Self {
        Self { shutdown, ..Self::default() }
    }

    /// Runs work to its end, even if the requester disconnects: what was stored is then also loaded and
    /// published.
    ///
    /// # Errors
    /// The error of the work; [`StoreError::Unavailable`] if the work panics or is cancelled.
    pub async fn run_to_completion<T, E>(
        &self,
        work: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.calls.spawn(work).await.unwrap_or_else(|_| Err(StoreError::Unavailable.into()))
    }
}
