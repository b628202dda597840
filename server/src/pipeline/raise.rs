//! A call that needed no approval, until its device found a higher risk on its disk. The device does not
//! run it and reports why; the same call is then made once more with that risk.

use orion_domain::{ApprovalBasis, CallId, CallState, Envelope, ErrorCode, RiskRaise};
use serde_json::Value;

use super::authorize::EvaluatedCall;
use super::call::{CallContext, Origin, Stage};
use super::view::CallView;
use crate::clock::{new_uuid, now_ms};
use crate::fleet::ApprovalProof;

/// Returns the call that replaces one which its device refused for a higher risk. None if this call ended
/// otherwise, or a person approved it as it was. The new call keeps the idempotency key.
pub(super) fn replacement(
    call: EvaluatedCall,
    proof: Option<&ApprovalProof>,
    view: &CallView,
) -> Option<CallContext> {
    let is_step = matches!(call.context.origin, Origin::PlanStep { .. });
    let by_person = proof.is_some_and(|proof| proof.basis != ApprovalBasis::Standing);
    if is_step || by_person {
        return None;
    }
    // Only a reason that the call did not have makes it again, so that no device has it made again without end.
    let known = &call.context.raises;
    let new: Vec<_> =
        reported(&call, view).into_iter().filter(|raise| !known.contains(raise)).collect();
    if new.is_empty() {
        return None;
    }
    let raises = known.iter().copied().chain(new).collect();
    let id = CallId::new(new_uuid());
    tracing::info!(call = %view.call, again = %id, "a device reports a higher risk");
    let context = call.context;
    Some(CallContext {
        id,
        created_at: now_ms(),
        raises,
        replaces: Some(context.id),
        stage: Stage::New,
        preview: None,
        is_fresh: false,
        ..context
    })
}

/// Returns why a device refused a call that needed no approval. Empty if the reason is not the risk.
fn reported(call: &EvaluatedCall, view: &CallView) -> Vec<RiskRaise> {
    let may_change = call.target.spec.has_effects && !call.context.request.dry_run;
    if view.state != CallState::Refused || !may_change {
        return Vec::new();
    }
    let envelope: Option<Envelope> = serde_json::from_slice(&view.result).ok();
    let error = envelope.and_then(|envelope| envelope.error);
    let Some(error) = error.filter(|error| error.code == ErrorCode::ApprovalRequired) else {
        return Vec::new();
    };
    let named = error.details.get("raises").and_then(Value::as_array);
    let is_named = |raise: &RiskRaise| {
        named.is_some_and(|named| named.iter().any(|it| it.as_str() == Some(raise.as_str())))
    };
    RiskRaise::ALL.into_iter().filter(is_named).collect()
}
