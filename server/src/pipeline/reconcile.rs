//! What became of a call, where only its device knows: asked when the device is back.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use orion_domain::{CallId, CallState, DeviceId, ErrorCode, ToolError};
use tokio::time::{sleep, timeout};

use super::{CallView, audit, queue};
use crate::backend::Backend;
use crate::bus::Change;
use crate::fleet::{DeviceSnapshot, SendError, Session, ToDevice};
use crate::store::{CallRow, ClosedBy, StateChange, StoreError};

/// The most calls that a device is asked about at once, as many as are read at once.
pub const MOST_ASKED: usize = 256;
/// How long a device that is slow to take a question is given before it is asked again.
const RETRY: Duration = Duration::from_secs(1);
/// How long a device has to say something of each call of a question before it is asked about more. Of
/// those that it does not remember it says nothing.
const ANSWER: Duration = Duration::from_secs(5);
/// How long one device may take when all are asked.
const ASK_TIMEOUT: Duration = Duration::from_secs(30);
/// How long they are asked again about a call that ended as unknown, in milliseconds. What a device does not
/// remember by then it does not remember later.
const NEWS_MS: i64 = 10 * 60_000;
/// How many of them are asked at once.
const AT_ONCE: usize = 16;

/// Asks a device that has just connected about the calls that nobody waits for any more, and sends it
/// what waits for it.
pub fn begin(backend: &Arc<Backend>, device: DeviceId, session: &Session) {
    let (shared, session) = (Arc::clone(backend), session.clone());
    backend.tasks.spawn(async move {
        // Most have nothing open. What comes to wait from here on wakes the session.
        let any_open = shared.store.has_open_calls(device).await.unwrap_or(true);
        let mut asking = Asking::new(&shared, device, &session, i64::MIN);
        let turn = session.asked().lock().await;
        // In boxes, for they are soon over, and what is served goes on as long as the device is there.
        let is_over = !any_open || !Box::pin(asking.go_on()).await;
        // A device that is asked much gets what waits for it all the same.
        let rest = Box::pin(async {
            if !is_over {
                asking.finish().await;
            }
            drop(turn);
        });
        tokio::join!(rest, queue::serve(&shared, device, &session, any_open));
    });
}

/// Asks devices that stay connected: a report may be lost at the moment when nobody waits for the call any more,
/// or its write may fail. Returns how many devices were asked.
///
/// # Errors
/// The store does not respond.
pub async fn ask_all(backend: &Backend, now_ms: i64) -> Result<usize, StoreError> {
    let since = now_ms - NEWS_MS;
    let devices = backend.store.devices_with_unsettled_calls(since).await?;
    let count = devices.len();
    let ask = |device| ask_again(backend, device, since);
    futures_util::stream::iter(devices).for_each_concurrent(AT_ONCE, ask).await;
    Ok(count)
}

async fn ask_again(backend: &Backend, device: DeviceId, since: i64) {
    let Some(session) = backend.fleet.session(device) else { return };
    // It is asked what there was when it connected still, which is more.
    let Some(_turn) = session.asked().try_lock() else { return };
    let asking = Asking::new(backend, device, &session, since);
    // Others do not wait for a device that does not keep up.
    timeout(ASK_TIMEOUT, asking.finish()).await.ok();
}

/// Going through what a device is to say of calls.
struct Asking<'a> {
    backend: &'a Backend,
    device: DeviceId,
    session: &'a Session,
    /// Of those that became unknown it is asked about later ones.
    since: i64,
    /// How far that is.
    after: Option<CallId>,
    /// The last question.
    asked: Vec<CallId>,
}

impl<'a> Asking<'a> {
    const fn new(backend: &'a Backend, device: DeviceId, session: &'a Session, since: i64) -> Self {
        Self { backend, device, session, since, after: None, asked: Vec::new() }
    }

    async fn finish(mut self) {
        while self.go_on().await {}
    }

    /// Asks the next question; `false` where there is none or the device goes.
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
        let Self { backend, device, session, since, after, .. } = *self;
        let page = backend.store.unsettled_calls(device, after, since).await?;
        let Some(last) = page.last() else { return Ok(false) };
        // What it has to say of the ones before comes first, however much that is.
        tokio::select! {
            biased;
            () = session.ended() => return Ok(false),
            () = backend.shutdown.cancelled() => return Ok(false),
            () = session.asked().all_resolved(&self.asked) => {}
            () = sleep(ANSWER) => {}
        }
        // Whoever waits for a call's answer asks about it; and a call that ended with somebody waiting,
        // since it was read, has its answer.
        let waiting = backend.fleet.waiting();
        let unheard: HashSet<_> =
            page.iter().map(|call| call.id).filter(|id| !waiting.is_expected(*id)).collect();
        let now = backend.store.unsettled_calls(device, after, since).await?;
        let open: Vec<_> = now.into_iter().filter(|call| unheard.contains(&call.id)).collect();
        self.after = Some(last.id);
        self.asked = open.iter().map(|call| call.id).collect();
        if !self.asked.is_empty() && !deliver(backend, session, || session.ask(&self.asked)).await {
            return Ok(false);
        }
        for call in open.iter().filter(|call| call.is_stopped) {
            // Said to the link before, it may not have arrived.
            if !deliver(backend, session, || session.send(ToDevice::Cancel(call.id))).await {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Tells a device something, again where it does not keep up; `false` where it goes meanwhile.
async fn deliver(
    backend: &Backend,
    session: &Session,
    tell: impl Fn() -> Result<(), SendError>,
) -> bool {
    while let Err(unsent) = tell() {
        if unsent == SendError::Closed {
            return false;
        }
        tokio::select! {
            () = session.ended() => return false,
            () = backend.shutdown.cancelled() => return false,
            () = sleep(RETRY) => {}
        }
    }
    true
}

/// Whether its device may have forgotten that it ran this call: its state was found to be an older one
/// after the call was sent to it. What it never saw, it then may have seen.
///
/// # Errors
/// The record cannot be read.
pub(super) async fn may_be_forgotten(backend: &Backend, row: &CallRow) -> Result<bool, StoreError> {
    let Some((device, _)) = row.device else { return Ok(false) };
    let sent = row.history.iter().find(|change| change.state == CallState::Dispatched);
    let sent_at = sent.map_or(row.created_at, |change| change.at);
    Ok(backend.store.forgot_at(device).await?.is_some_and(|forgot| sent_at <= forgot))
}

/// What is said of a call that its device may have forgotten.
pub(super) fn forgotten(row: &CallRow) -> ToolError {
    let name = row.device.as_ref().map(|(_, name)| name.to_string()).unwrap_or_default();
    let message = format!(
        "Whether {} happened is not known. After it was sent, the state folder of {name} was found to be an older one or a copy, so that the device cannot tell a call that it never saw from one that it ran and forgot. It is not run again: look at {name}, and make the call anew where it did not happen.",
        row.tool
    );
    ToolError::new(ErrorCode::OutcomeUnknown, message).with("established", "forgotten")
}

/// Ends a call of which its device says that it never arrived. What is said of a call that was not
/// sent to this device, or that has ended, changes nothing.
///
/// # Errors
/// The record cannot be read or kept; the device is asked again when it connects the next time.
pub async fn never_ran(
    backend: &Backend,
    known: &DeviceSnapshot,
    call: CallId,
) -> Result<(), StoreError> {
    let row = match backend.store.call(&call.to_string()).await {
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
    if may_be_forgotten(backend, &row).await? {
        // Said once: the next time that it says so there is nothing new.
        let is_unknown = |change: &&StateChange| change.state == CallState::Unknown;
        if row.history.iter().filter(is_unknown).count() < 2 {
            let error = forgotten(&row);
            let close = audit::closing(&CallView::from(row), error);
            if backend.store.close_call(close, ClosedBy::Device).await? {
                backend.bus.publish(Change::CallClosed(call));
            }
        }
        return Ok(());
    }
    let message = format!(
        "The link to {} was lost before the call arrived, and the device says that it never ran. Make it again.",
        known.name
    );
    let error = ToolError::new(ErrorCode::DeviceOffline, message).with("established", "never_ran");
    let close = audit::closing(&CallView::from(row), error);
    if backend.store.close_call(close, ClosedBy::Device).await? {
        tracing::info!(device = %known.name, %call, "a call that was lost on its way was settled");
        backend.bus.publish(Change::CallClosed(call));
    }
    Ok(())
}
