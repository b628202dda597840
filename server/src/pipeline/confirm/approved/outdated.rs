//! Ends open approval requests whose call can no longer run as it was shown: the permissions of its device
//! changed, or its requester lost the role, the account or the session.

use std::collections::HashMap;

use orion_domain::{ApprovalId, ErrorCode, Role, ToolError};

use super::changed;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::pipeline::call::CallContext;
use crate::pipeline::evaluate::evaluate;
use crate::pipeline::view::CallView;
use crate::pipeline::{Pipeline, audit, validate};
use crate::store::{ApprovalRow, ApprovalState, OpenRequest, StoreError};

/// What makes an open request outdated when it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    /// The policy version of the device.
    policy: String,
    /// Whether the device's identity has ended.
    has_ended: bool,
    /// The requester's role. None if the account is disabled.
    role: Option<Role>,
    /// Whether the session or token of the call is still valid.
    is_signed_in: bool,
}

/// The open requests as they were looked at last.
#[derive(Debug, Default)]
pub struct SeenRequests(HashMap<ApprovalId, Seen>);

/// Ends the open requests that are outdated by a change since they were looked at last.
///
/// # Errors
/// The database cannot be read.
pub async fn end_outdated(
    pipeline: &Pipeline,
    seen: &mut SeenRequests,
) -> Result<usize, StoreError> {
    let (mut ended, mut next) = (0, HashMap::new());
    for OpenRequest { id, device, requester_role: role, is_signed_in } in
        pipeline.store.open_requests(now_ms()).await?
    {
        let before = seen.0.remove(&id);
        let now = pipeline.fleet.current(device).map(|device| Seen {
            policy: device.policy.version.clone(),
            has_ended: device.has_ended(),
            role,
            is_signed_in,
        });
        // A device whose policy cannot be loaded denies everything until it can be.
        if now.is_none() || now == before {
            next.extend(before.map(|seen| (id, seen)));
            continue;
        }
        match look_again(pipeline, id).await {
            Ok(Looked::Held) => next.extend(before.map(|seen| (id, seen))),
            Ok(looked) => {
                ended += usize::from(looked == Looked::Ended);
                next.extend(now.map(|seen| (id, seen)));
            }
            // One request must not block the others; it is looked at again.
            Err(error) => {
                tracing::error!(approval = %id, %error, "an approval request could not be looked at again");
            }
        }
    }
    seen.0 = next;
    Ok(ended)
}

/// What a look at an open request has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looked {
    Ended,
    Stands,
    /// It is held for a while, and is looked at once it no longer is.
    Held,
}

async fn look_again(pipeline: &Pipeline, id: ApprovalId) -> Result<Looked, StoreError> {
    let row = pipeline.store.approval(id).await?;
    let was_held = is_held(pipeline, &row);
    if end_if_outdated(pipeline, &row).await?.is_some() {
        return Ok(Looked::Ended);
    }
    // A hold that begins or ends during the look counts, too.
    Ok(if was_held || is_held(pipeline, &row) { Looked::Held } else { Looked::Stands })
}

/// Ends an open request if its call can no longer run as it was shown, and returns why.
///
/// # Errors
/// The database cannot be read or written.
pub(in crate::pipeline::confirm) async fn end_if_outdated(
    pipeline: &Pipeline,
    approval: &ApprovalRow,
) -> Result<Option<ToolError>, StoreError> {
    if approval.state != ApprovalState::Open || is_held(pipeline, approval) {
        return Ok(None);
    }
    let row = pipeline.store.call(approval.call).await?;
    let view = CallView::from(row.clone());
    let context = CallContext::stored(row, Some(approval.clone()))?;
    let error = match evaluate(pipeline, context).await? {
        Ok(evaluated) => changed(&evaluated, approval).map(|error| *error),
        Err(stopped) => Some(stopped.error).filter(|error| {
            matches!(error.code, ErrorCode::PermissionDenied | ErrorCode::PreconditionFailed)
        }),
    };
    let Some(error) = error else { return Ok(None) };
    // Somebody may have decided since.
    if pipeline.store.withdraw_approval(approval.call, now_ms()).await?.is_none() {
        return Ok(None);
    }
    pipeline.bus.publish(Change::Approval(approval.id, approval.call));
    audit::close_unsent(pipeline, &view, error.clone()).await?;
    Ok(Some(error))
}

/// Returns whether the call is held for a while: by a stop, or because its device is in quarantine.
fn is_held(pipeline: &Pipeline, approval: &ApprovalRow) -> bool {
    pipeline.stops.refusal(&approval.requester, approval.device.0).is_some()
        || quarantined(pipeline, approval).is_some()
}

/// Returns the error for a call whose device takes no calls for a while.
pub(in crate::pipeline::confirm) fn quarantined(
    pipeline: &Pipeline,
    approval: &ApprovalRow,
) -> Option<ToolError> {
    let device = pipeline.fleet.known(approval.device.0)?;
    (!device.is_approved() && !device.has_ended()).then(|| validate::not_approved(&device))
}
