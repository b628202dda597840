//! A call that needed nobody, until its device saw on its disk that the risk is higher: the device runs
//! nothing and says why, and a person is asked with a preview.

use std::sync::Arc;

use orion_domain::evaluate::Decision;
use orion_domain::{CallId, CallState, Envelope, ErrorCode, RiskRaise};
use serde_json::Value;

use super::audit::CallContext;
use super::authorize::{self, EvaluatedCall};
use super::{CallView, audit, confirm, reauthorize};
use crate::backend::Backend;
use crate::clock::{new_uuid, now_ms};
use crate::store::StoreError;

/// Makes an attempt at a call that needs nobody. Where its device reports a higher risk, that attempt is
/// over, and the same call is made once more with the risk that it has: then a person is asked.
///
/// # Errors
/// The record cannot be kept.
pub(super) async fn attempt(
    backend: &Arc<Backend>,
    judged: &EvaluatedCall,
    attempt: impl Future<Output = Result<CallView, StoreError>>,
) -> Result<CallView, StoreError> {
    // Whoever sends the same key again waits for what follows.
    let key = judged.incoming.request.idempotency_key.as_ref();
    let _attempted = key.map(|_| backend.load.attempted(judged.incoming.id));
    let reply = attempt.await?;
    let raises = reported(judged, &reply);
    if raises.is_empty() {
        return Ok(reply);
    }
    let again = again(backend, judged, raises).await?;
    match again.decision() {
        Decision::Ask | Decision::DryRunFirst => {
            tracing::info!(
                call = %reply.call, again = %again.incoming.id, "a device reports a higher risk"
            );
            confirm::ask(backend, &again, None).await
        }
        Decision::Deny => audit::deny_judged(backend, &again, again.refusal()).await,
        // The device holds something stricter than what is known here, and its word stands.
        Decision::Allow => Ok(reply),
    }
}

/// Why a device would not run a call that needed nobody; empty where it is not about the risk.
fn reported(judged: &EvaluatedCall, reply: &CallView) -> Vec<RiskRaise> {
    let may_change = judged.target.spec.has_effects && !judged.incoming.request.dry_run;
    if reply.state != CallState::Refused || !may_change {
        return Vec::new();
    }
    let envelope: Option<Envelope> = serde_json::from_slice(&reply.result).ok();
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

/// The same call in place of that attempt, judged by what holds now and by what the device reports. The idempotency key
/// goes with it.
async fn again(
    backend: &Backend,
    judged: &EvaluatedCall,
    raises: Vec<RiskRaise>,
) -> Result<EvaluatedCall, StoreError> {
    let EvaluatedCall { incoming, target, parsed, .. } = judged;
    let incoming = CallContext {
        id: CallId::new(new_uuid()),
        created_at: now_ms(),
        raises,
        replaces: Some(incoming.id),
        ..incoming.clone()
    };
    let again = authorize::call(incoming, target.clone(), parsed.clone());
    Ok(reauthorize::afresh(backend, &again).await?.counted_like(judged))
}
