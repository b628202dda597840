//! The device's own evaluation of a call, by a preview.

use std::sync::Arc;

use orion_domain::{CallRequest, Caller, Decision, DeviceName};

use super::explain;
use crate::pipeline::Pipeline;
use crate::pipeline::call::{CallContext, Origin};
use crate::pipeline::view::CallView;
use crate::store::{Provenance, StoreError};

/// The device's own evaluation of a call.
#[derive(Debug)]
pub enum DeviceVerdict {
    /// The device was not asked, for this reason.
    NotAsked(String),
    /// The view of the preview call.
    Asked(Box<CallView>),
}

/// Has the device evaluate a call by a preview, which is stored as a call of its own. A call that only reads is done
/// for it, and what it read is not kept; the preview counts towards no limit.
///
/// # Errors
/// The database cannot be written.
pub async fn ask_device(
    pipeline: &Arc<Pipeline>,
    caller: Caller,
    request: CallRequest,
) -> Result<DeviceVerdict, StoreError> {
    let preview = CallRequest { dry_run: true, idempotency_key: None, ..request };
    let clean = Provenance::default();
    let explained = explain(pipeline, caller.clone(), preview.clone(), None, clean).await?;
    let Some((_, known)) = &explained.target else {
        return Ok(not_asked("there is no such tool or device"));
    };
    if !pipeline.fleet.is_online(known.id) {
        return Ok(not_asked(&format!("{} is not connected", known.name)));
    }
    if explained.decision != Decision::Allow {
        return Ok(not_asked(&unsent(&known.name)));
    }
    let origin = Origin::Preview { plan: None, observe: false };
    let mut preview = CallContext { origin, ..CallContext::new(caller, preview) };
    preview.request.dry_run = true;
    Ok(DeviceVerdict::Asked(Box::new(pipeline.run(preview).await?)))
}

fn unsent(device: &DeviceName) -> String {
    format!(
        "the backend does not allow a preview of this call (the ceiling lines are from {device}'s last report)"
    )
}

fn not_asked(why: &str) -> DeviceVerdict {
    DeviceVerdict::NotAsked(why.to_owned())
}
