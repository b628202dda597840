//! Sends the queued calls of a device that is connected, oldest first.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::{CallId, CallState, DeviceId};
use tokio::sync::Semaphore;

use super::expire::end_overdue;
use crate::clock::now_ms;
use crate::fleet::DeviceLink;
use crate::pipeline::Pipeline;
use crate::pipeline::call::CallContext;
use crate::pipeline::confirm::run_approved;
use crate::pipeline::route::DispatchSlot;
use crate::store::StoreError;

/// The most queued calls that are sent to one device at a time. The other slots stay free for new calls.
const MAX_CONCURRENT: usize = 8;

/// How long until an unsent call is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// Sends the queued calls of this device, oldest first, until the link ends. `any_waits` is false if no
/// call waits at the start.
pub(in crate::pipeline) async fn serve(
    pipeline: &Arc<Pipeline>,
    device: DeviceId,
    link: &DeviceLink,
    any_waits: bool,
) {
    let at_once = Arc::new(Semaphore::new(MAX_CONCURRENT));
    let mut may_wait = any_waits;
    loop {
        let left = may_wait
            && match Box::pin(deliver(pipeline, device, link, &at_once)).await {
                Ok(sent) => sent > 0,
                Err(error) => {
                    tracing::error!(%device, %error, "calls that wait for a device could not be read");
                    true
                }
            };
        may_wait = true;
        // Calls that could not be sent are tried again.
        tokio::select! {
            () = link.woken() => {}
            () = tokio::time::sleep(RETRY_INTERVAL), if left => {}
            () = link.ended() => return,
            () = pipeline.tasks.shutdown.cancelled() => return,
        }
    }
}

/// Starts sending the queued calls, and returns how many there were.
async fn deliver(
    pipeline: &Arc<Pipeline>,
    device: DeviceId,
    link: &DeviceLink,
    at_once: &Arc<Semaphore>,
) -> Result<usize, StoreError> {
    let (mut after, mut found) = (None, 0);
    loop {
        let page = pipeline.store.queued_calls(device, after).await?;
        let Some(last) = page.last() else { return Ok(found) };
        after = Some(*last);
        found += page.len();
        for call in page {
            let place = tokio::select! {
                // No call starts while the backend stops.
                biased;
                () = link.ended() => return Ok(found),
                () = pipeline.tasks.shutdown.cancelled() => return Ok(found),
                place = Arc::clone(at_once).acquire_owned() => place.map_err(|_| StoreError::Unavailable)?,
            };
            let shared = Arc::clone(pipeline);
            pipeline.tasks.calls.spawn(async move {
                let _place = place;
                if let Err(error) = send(&shared, device, call).await {
                    tracing::error!(%call, %error, "a call that waited could not be sent");
                }
            });
        }
    }
}

/// Sends one queued call, if it may still run. The slot is acquired before the evaluation, so that an
/// evaluated call is sent at once and no approval is consumed in vain.
async fn send(pipeline: &Arc<Pipeline>, device: DeviceId, call: CallId) -> Result<(), StoreError> {
    let Some(_delivery) = pipeline.fleet.delivery(call) else { return Ok(()) };
    let user = pipeline.store.call(call).await?.caller.user;
    let Some(slot) = DispatchSlot::wait_for(pipeline, device, &user).await else { return Ok(()) };
    let row = pipeline.store.call(call).await?;
    if row.state != CallState::Queued {
        return Ok(());
    }
    if row.queued_until.unwrap_or(row.deadline_at) <= now_ms() {
        return end_overdue(pipeline, row).await;
    }
    // A sent call counts among the person's calls in flight. If those are too many, it keeps waiting.
    let most = pipeline.config.calls.in_flight_per_person;
    let Ok(_place) = pipeline.limits.acquire_slot(&row.caller.user, most) else { return Ok(()) };
    if let Some(approval) = row.approval {
        let approval = pipeline.store.approval(approval).await?;
        return run_approved(pipeline, &approval, Some(slot)).await.map(drop);
    }
    pipeline.resume(CallContext::stored(row, None)?, Some(slot)).await.map(drop)
}
