//! Ends calls that their device never received, unless the device may have forgotten them.

use orion_domain::{CallId, CallState, ErrorCode, ToolError};

use crate::bus::Change;
use crate::fleet::DeviceSnapshot;
use crate::pipeline::Pipeline;
use crate::pipeline::view::CallView;
use crate::store::{CallRow, ClosedBy, StateChange, StoreError};

/// Returns whether the device may have forgotten that it ran this call: its state was found to be an older
/// one after the call was sent. It may have run a call that it reports as never seen.
///
/// # Errors
/// The database cannot be read.
pub(in crate::pipeline) async fn may_be_forgotten(
    pipeline: &Pipeline,
    row: &CallRow,
) -> Result<bool, StoreError> {
    let Some((device, _)) = row.device else { return Ok(false) };
    let sent = row.history.iter().find(|change| change.state == CallState::Dispatched);
    let sent_at = sent.map_or(row.created_at, |change| change.at);
    Ok(pipeline.store.forgot_at(device).await?.is_some_and(|forgot| sent_at <= forgot))
}

/// Returns the error for a call that its device may have forgotten.
pub(in crate::pipeline) fn forgotten(row: &CallRow) -> ToolError {
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
    let row = match pipeline.store.call(call).await {
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
