//! The audit events of a call: opened and closed.

use orion_domain::{CallState, Digest, ErrorCode};
use serde::Serialize;

use super::{CloseCall, NewCall, StateChange, Witness};
use crate::store::StoreError;
use crate::store::audit::Opened;
use crate::store::writer::Event;

/// The audit event of a call's end.
#[derive(Serialize)]
struct Closed<'a> {
    state: CallState,
    code: Option<ErrorCode>,
    result_digest: Digest,
    result_bytes: usize,
    duration_us: u64,
    history: &'a [StateChange],
    #[serde(skip_serializing_if = "Option::is_none")]
    witness: Option<Witness>,
}

/// Returns the audit event of a new call.
pub(super) fn opened(call: &NewCall) -> Result<Event, StoreError> {
    Event::new(call.created_at, "call.opened", call.id.to_string(), &Opened::of(call))
}

/// Returns the audit event of a closed call, with its whole history.
pub(super) fn closed(close: &CloseCall, history: &[StateChange]) -> Result<Event, StoreError> {
    let before = history.len().checked_sub(2).and_then(|index| history.get(index));
    let kind = match before {
        Some(StateChange { state: CallState::Unknown, .. }) => "call.reconciled",
        _ => "call.closed",
    };
    let body = Closed {
        state: close.state,
        code: close.code,
        result_digest: Digest::of(&close.result),
        result_bytes: close.result.len(),
        duration_us: close.duration_us,
        history,
        witness: close.witness,
    };
    Event::new(close.at, kind, close.id.to_string(), &body)
}
