//! Reconciles calls whose outcome only their device knows: asks the device when it connects, and while it
//! stays connected.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use orion_domain::{CallId, CallState, DeviceId, ErrorCode, ToolError};
use tokio::time::{sleep, timeout};

use super::view::CallView;
use super::{Pipeline, queue};
use crate::bus::Change;
use crate::fleet::{DeviceLink, DeviceSnapshot, SendError};
use crate::store::{CallRow, ClosedBy, StateChange, StoreError};

/// The most calls in one query to a device, and in one read of the database.
pub const MOST_ASKED: usize = 256;
/// How long to wait before a query is sent again to a device that is slow to receive.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// How long a device may take to report on each call of a query before the next query is sent. It does not
/// report on calls that it does not remember.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long one device may take when all are asked.
const ASK_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a call that ended as unknown is asked about, in milliseconds. A device that does not remember
/// it by then will not remember it later.
const UNKNOWN_WINDOW_MS: i64 = 10 * 60_000;
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

/// The queries to one device, page by page.
struct Asking<'a> {
    pipeline: &'a Pipeline,
    device: DeviceId,
    link: &'a DeviceLink,
    /// Unix milliseconds. Only calls that became unknown after this are asked about.
    since: i64,
    /// The last call that was read. None before the first page.
    after: Option<CallId>,
    /// The calls of the last query.
    asked: Vec<CallId>,
}

impl<'a> Asking<'a> {
    const fn new(
        pipeline: &'a Pipeline,
        device: DeviceId,
        link: &'a DeviceLink,
        since: i64,
    ) -> Self {
        Self { pipeline, device, link, since, after: None, asked: Vec::new() }
    }

    async fn finish(mut self) {
        while self.go_on().await {}
    }

    /// Sends the next query. Returns `false` if there is none or the device disconnects.
    async fn go_on(&mut self) -> bool {
        match self.ask().await {
            Ok(more) => more,
            Err(error) => {
                tracing::error!(device = %self.device, %error, "the calls that are not settled could not be read");
                false
            }
        }
    }

    async fn ask(&mut self) -> Result<bool, StoreError> {
        let Self { pipeline, device, link, since, after, .. } = *self;
        let page = pipeline.store.unsettled_calls(device, after, since).await?;
        let Some(last) = page.last() else { return Ok(false) };
        // The device first reports on the previous query, however many calls that had.
        tokio::select! {
            biased;
            () = link.ended() => return Ok(false),
            () = pipeline.tasks.shutdown.cancelled() => return Ok(false),
            () = link.asked().all_resolved(&self.asked) => {}
            () = sleep(ANSWER_TIMEOUT) => {}
        }
        // A task that waits for a call asks about it itself. The calls are read again, because such a call
        // may have ended since the first read.
        let waiting = pipeline.fleet.waiting();
        let unclaimed: HashSet<_> =
            page.iter().map(|call| call.id).filter(|id| !waiting.is_expected(*id)).collect();
        let now = pipeline.store.unsettled_calls(device, after, since).await?;
        let open: Vec<_> = now.into_iter().filter(|call| unclaimed.contains(&call.id)).collect();
        self.after = Some(last.id);
        self.asked = open.iter().map(|call| call.id).collect();
        if !self.asked.is_empty() && !deliver(pipeline, link, || link.query(&self.asked)).await {
            return Ok(false);
        }
        for call in open.iter().filter(|call| call.is_stopped) {
            // The cancel was sent on the earlier connection and may not have arrived.
            if !deliver(pipeline, link, || link.cancel(call.id)).await {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Sends a message to a device, again while the device is slow. Returns `false` if the device disconnects.
async fn deliver(
    pipeline: &Pipeline,
    link: &DeviceLink,
    send: impl Fn() -> Result<(), SendError>,
) -> bool {
    while let Err(unsent) = send() {
        if unsent == SendError::Closed {
            return false;
        }
        tokio::select! {
            () = link.ended() => return false,
            () = pipeline.tasks.shutdown.cancelled() => return false,
            () = sleep(RETRY_INTERVAL) => {}
        }
    }
    true
}

/// Returns whether the device may have forgotten that it ran this call: its state was found to be an older
/// one after the call was sent. It may have run a call that it reports as never seen.
///
/// # Errors
/// The database cannot be read.
pub(super) async fn may_be_forgotten(
    pipeline: &Pipeline,
    row: &CallRow,
) -> Result<bool, StoreError> {
    let Some((device, _)) = row.device else { return Ok(false) };
    let sent = row.history.iter().find(|change| change.state == CallState::Dispatched);
    let sent_at = sent.map_or(row.created_at, |change| change.at);
    Ok(pipeline.store.forgot_at(device).await?.is_some_and(|forgot| sent_at <= forgot))
}

/// Returns the error for a call that its device may have forgotten.
pub(super) fn forgotten(row: &CallRow) -> ToolError {
    let name = row.device.as_ref().map(|(_, name)| name.to_string()).unwrap_or_default();
    let message = format!(
        "Whether {} happened is not known. After it was sent, the state folder of {name} was found to be an older one or a copy, so that the device cannot tell a call that it never saw from one that it ran and forgot. It is not run again.",
        row.tool
    );
    ToolError::new(ErrorCode::OutcomeUnknown, message)
        .with("established", "forgotten")
        .hint(format!("look at {name}, and make the call again where it did not happen"))
}

/// Ends a call that its device reports as never received. A report about a call that was not sent to this
/// device, or that has ended, changes nothing.
///
/// # Errors
/// The database cannot be read or written; the device is asked again when it connects the next time.
pub async fn never_ran(
    pipeline: &Pipeline,
    known: &DeviceSnapshot,
    call: CallId,
) -> Result<(), StoreError> {
    let row = match pipeline.store.call(&call.to_string()).await {
        Ok(row) => row,
        Err(StoreError::NotFound) => return Ok(()),
        Err(error) => return Err(error),
    };
    let is_its = row.device.as_ref().is_some_and(|(id, _)| *id == known.id);
    let is_open =
        matches!(row.state, CallState::Dispatched | CallState::Running | CallState::Unknown);
    if !is_its || !is_open {
        return Ok(());
    }
    if may_be_forgotten(pipeline, &row).await? {
        // Recorded once; repeated reports add nothing.
        let is_unknown = |change: &&StateChange| change.state == CallState::Unknown;
        if row.history.iter().filter(is_unknown).count() < 2 {
            let error = forgotten(&row);
            let close = CallView::from(row).closing(error);
            if pipeline.store.close_call(close, ClosedBy::Device).await? {
                pipeline.bus.publish(Change::CallClosed(call));
            }
        }
        return Ok(());
    }
    let message = format!(
        "The link to {} was lost before the call arrived, and the device reports that it never ran.",
        known.name
    );
    let error = ToolError::new(ErrorCode::DeviceOffline, message)
        .with("established", "never_ran")
        .hint("make the call again");
    let close = CallView::from(row).closing(error);
    if pipeline.store.close_call(close, ClosedBy::Device).await? {
        tracing::info!(device = %known.name, %call, "a call that was lost on its way was settled");
        pipeline.bus.publish(Change::CallClosed(call));
    }
    Ok(())
}
