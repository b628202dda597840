//! Reconciles calls whose outcome only their device knows: asks the device when it connects, and while it
//! stays connected.

mod asking;
mod never_ran;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use orion_domain::DeviceId;
use tokio::time::timeout;

use super::{Pipeline, queue};
use crate::fleet::DeviceLink;
use crate::store::StoreError;

use asking::Asking;
pub use never_ran::never_ran;
pub(super) use never_ran::{forgotten, may_be_forgotten};

/// The most calls in one query to a device, and in one read of the database.
pub const MAX_ASKED: usize = 256;

/// How long one device may take when all are asked.
const ASK_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a call that ended as unknown is asked about, in milliseconds. A device that does not remember
/// it by then will not remember it later.
pub(super) const UNKNOWN_WINDOW_MS: i64 = 10 * 60_000;

/// The most devices that are asked at once.
const MAX_CONCURRENT: usize = 16;

/// Asks a device that has just connected about the calls that no task waits for, and sends it its queued
/// calls.
pub fn begin(pipeline: &Arc<Pipeline>, device: DeviceId, link: &DeviceLink) {
    let (shared, link) = (Arc::clone(pipeline), link.clone());
    pipeline.tasks.background.spawn(async move {
        // Most devices have no open calls. A call that is queued later wakes the link.
        let any_open = shared.store.has_open_calls(device).await.unwrap_or(true);
        let mut asking = Asking::new(&shared, device, &link, i64::MIN);
        let query_lock = link.asked().lock().await;
        // Boxed: these futures end soon, while `queue::serve` lasts as long as the link.
        let is_over = !any_open || !Box::pin(asking.go_on()).await;
        // Queued calls are sent to the device even if it is asked about many calls.
        let rest = Box::pin(async {
            if !is_over {
                asking.finish().await;
            }
            drop(query_lock);
        });
        tokio::join!(rest, queue::serve(&shared, device, &link, any_open));
    });
}

/// Asks connected devices: a report may be lost when the task that waits for the call ends, or fail to be
/// stored. Returns how many devices were asked.
///
/// # Errors
/// The database cannot be read.
pub async fn ask_all(pipeline: &Pipeline, now_ms: i64) -> Result<usize, StoreError> {
    let since = now_ms - UNKNOWN_WINDOW_MS;
    let devices = pipeline.store.devices_with_unsettled_calls(since).await?;
    let count = devices.len();
    let ask = |device| ask_again(pipeline, device, since);
    futures_util::stream::iter(devices).for_each_concurrent(MAX_CONCURRENT, ask).await;
    Ok(count)
}

async fn ask_again(pipeline: &Pipeline, device: DeviceId, since: i64) {
    let Some(link) = pipeline.fleet.link(device) else { return };
    // The queries from when the device connected are still running, and they cover more calls.
    let Some(_query_lock) = link.asked().try_lock() else { return };
    let asking = Asking::new(pipeline, device, &link, since);
    // Other devices do not wait for a slow one.
    timeout(ASK_TIMEOUT, asking.finish()).await.ok();
}
