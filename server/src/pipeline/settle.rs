//! What became of a call, where only its device knows: asked when the device is back.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::{CallId, CallState, DeviceId, ErrorCode, ToolError};

use super::{Reply, audit, queue};
use crate::backend::Backend;
use crate::bus::Change;
use crate::fleet::{Known, Session, ToDevice};
use crate::store::StoreError;

/// The most calls that a device is asked about at once.
pub const MOST_ASKED: usize = 256;
/// How long a device that is slow to take a question is given before it is asked again.
const RETRY: Duration = Duration::from_secs(1);

/// Asks a device that has just connected about the calls that nobody waits for any more, and then
/// sends it what waits for it.
pub fn begin(backend: &Arc<Backend>, device: DeviceId, session: &Session) {
    let (shared, session) = (Arc::clone(backend), session.clone());
    backend.tasks.spawn(async move {
        if let Err(error) = Box::pin(ask(&shared, device, &session)).await {
            tracing::error!(%device, %error, "the calls that are not settled could not be read");
        }
        queue::serve(&shared, device, &session).await;
    });
}

async fn ask(backend: &Backend, device: DeviceId, session: &Session) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = backend.store.unsettled_calls(device, after).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(*last);
        // Whoever waits for a call's answer asks about it.
        let unheard: Vec<_> =
            page.into_iter().filter(|call| !backend.fleet.waiting().is_expected(*call)).collect();
        for asked in unheard.chunks(MOST_ASKED) {
            while session.send(ToDevice::Query(asked.to_vec())).is_err() {
                tokio::select! {
                    () = session.ended() => return Ok(()),
                    () = backend.shutdown.cancelled() => return Ok(()),
                    () = tokio::time::sleep(RETRY) => {}
                }
            }
        }
    }
}

/// Ends a call of which its device says that it never arrived. What is said of a call that was not
/// sent to this device, or that has ended, changes nothing.
///
/// # Errors
/// The record cannot be read or kept; the device is asked again when it connects the next time.
pub async fn never_ran(backend: &Backend, known: &Known, call: CallId) -> Result<(), StoreError> {
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
    let message = format!(
        "The link to {} was lost before the call arrived, and the device says that it never ran. Make it again.",
        known.name
    );
    let error = ToolError::new(ErrorCode::DeviceOffline, message).with("established", "never_ran");
    if backend.store.close_call(audit::closing(&Reply::from(row), error)).await? {
        tracing::info!(device = %known.name, %call, "a call that was lost on its way was settled");
        backend.bus.publish(Change::CallClosed(call));
    }
    Ok(())
}
