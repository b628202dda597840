//! Asks one device about its calls, page by page. What the device reports is handled where it is received.

use std::collections::HashSet;
use std::time::Duration;

use orion_domain::{CallId, DeviceId};
use tokio::time::sleep;

use crate::fleet::{DeviceLink, SendError};
use crate::pipeline::Pipeline;
use crate::store::StoreError;

/// How long to wait before a query is sent again to a device that is slow to receive.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// How long a device may take to report on each call of a query before the next query is sent. It does not
/// report on calls that it does not remember.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The queries to one device, page by page.
pub(super) struct Asking<'a> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) device: DeviceId,
    pub(super) link: &'a DeviceLink,
    /// Unix milliseconds. Only calls that became unknown after this are asked about.
    pub(super) since: i64,
    /// The last call that was read. None before the first page.
    pub(super) after: Option<CallId>,
    /// The calls of the last query.
    pub(super) asked: Vec<CallId>,
}

impl<'a> Asking<'a> {
    pub(super) const fn new(
        pipeline: &'a Pipeline,
        device: DeviceId,
        link: &'a DeviceLink,
        since: i64,
    ) -> Self {
        Self { pipeline, device, link, since, after: None, asked: Vec::new() }
    }

    pub(super) async fn finish(mut self) {
        while self.go_on().await {}
    }

    /// Sends the next query. Returns `false` if there is none or the device disconnects.
    pub(super) async fn go_on(&mut self) -> bool {
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
