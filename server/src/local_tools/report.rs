//! How a call on the backend ended: the result envelope and the final state.

use std::time::Duration;

use orion_domain::{
    CallId, CallState, DeviceName, Envelope, ErrorCode, Meta, Observation, ToolError,
};
use serde_json::Value;

use super::Outcome;
use crate::fleet::{DeviceResult, Dispatch};

/// The maximum size of a result, in bytes.
const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// Returns the end of a call.
pub(super) fn result(
    order: &Dispatch,
    ended: Result<Outcome<Value>, ToolError>,
    took: Duration,
) -> DeviceResult {
    let observed = (order.dry_run && order.observe).then(Vec::new);
    end((order.call, order.tool, order.dry_run), observed, ended, took)
}

/// Returns the end of a call with this id, of this tool, which is a preview or not. `observed` is what a preview
/// observes of paths.
pub(super) fn end(
    (call, tool, dry_run): (CallId, &str, bool),
    observed: Option<Vec<Observation>>,
    ended: Result<Outcome<Value>, ToolError>,
    took: Duration,
) -> DeviceResult {
    let meta = Meta {
        call_id: call.to_string(),
        device: DeviceName::BACKEND.to_owned(),
        tool: tool.to_owned(),
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        observed,
        ..Meta::default()
    };
    let failed = |error: ToolError, meta: Meta| {
        let code = error.code;
        (Some(code), encoded(&Envelope::failure(error, dry_run, meta)))
    };
    let (code, result) = match ended {
        Ok(Outcome { message, data, truncated }) => {
            let of_success = Meta { truncated, ..meta.clone() };
            let result = encoded(&Envelope::success(message, data, dry_run, of_success));
            if result.len() <= MAX_RESULT_BYTES {
                (None, result)
            } else {
                failed(too_large(), meta)
            }
        }
        Err(error) => failed(error, meta),
    };
    DeviceResult {
        call,
        state: code.map_or(CallState::Succeeded, ErrorCode::reported_state),
        code,
        result,
        duration_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        witness: None,
    }
}

fn too_large() -> ToolError {
    let message = format!("The result has more than {MAX_RESULT_BYTES} bytes.");
    ToolError::new(ErrorCode::ResourceExhausted, message).hint("ask for less at once")
}

fn encoded(envelope: &Envelope) -> Vec<u8> {
    // An envelope of strings, numbers and JSON always serialises.
    serde_json::to_vec(envelope).unwrap_or_default()
}
