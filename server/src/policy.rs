//! Changes of the policy file: checked, compared with past calls, applied as a whole, stored in versions. An
//! invalid file changes nothing. The active file is in [`crate::active_policy`].

mod apply;
mod changes;
mod replay;
mod review;

pub use apply::{ApplyResult, Checked, Text, apply, check, roll_back};
pub use changes::DeviceChange;
pub use replay::{Change, Counts, Replay, ReplayResult, ReplaySample, replay};
pub use review::{DAYS, GrantReview, Review, review};

use crate::people::HeavyRequest;
use crate::store::StoreError;

/// Runs long work on a blocking thread, so that other requests continue. The heavy request is held until
/// the work ends.
///
/// # Errors
/// [`StoreError::Unavailable`] if the work panics or is cancelled.
async fn run_blocking<T: Send + 'static>(
    request: &HeavyRequest,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    let request = request.clone();
    let held = move || {
        let done = work();
        drop(request);
        done
    };
    tokio::task::spawn_blocking(held).await.map_err(|error| {
        tracing::error!(%error, "a trial or review broke off");
        StoreError::Unavailable
    })
}
