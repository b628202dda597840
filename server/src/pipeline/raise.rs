//! A call that needed no approval, until its device found a higher risk on its disk. The device does not
//! run it and reports why, and a person is asked with a preview.

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

/// Attempts a call that needs no approval. If its device reports a higher risk, the attempt ends, and the
/// same call is made once more with that risk: then it needs approval.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn attempt(
    backend: &Arc<Backend>,
    evaluated: &EvaluatedCall,
    attempt: impl Future<Output = Result<CallView, StoreError>>,
) -> Result<CallView, StoreError> {
    // A request with the same key waits for what follows.
    let key = evaluated.incoming.request.idempotency_key.as_ref();
    let _attempted = key.map(|_| backend.load.attempted(evaluated.incoming.id));
    let view = attempt.await?;
    let raises = reported(evaluated, &view);
    if raises.is_empty() {
        return Ok(view);
    }
    let retry = retry(backend, evaluated, raises).await?;
    match retry.decision() {
        Decision::Ask | Decision::DryRunFirst => {
            tracing::info!(
                call = %view.call, again = %retry.incoming.id, "a device reports a higher risk"
            );
            confirm::ask(backend, &retry, None).await
        }
        Decision::Deny => audit::deny_judged(backend, &retry, retry.refusal()).await,
        // The device has a stricter limit than the backend knows, and its refusal counts.
        Decision::Allow => Ok(view),
    }
}

/// Returns why a device refused a call that needed no approval. Empty if the reason is not the risk.
fn reported(evaluated: &EvaluatedCall, view: &CallView) -> Vec<RiskRaise> {
    let may_change = evaluated.target.spec.has_effects && !evaluated.incoming.request.dry_run;
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

/// Returns the same call as a replacement of the attempt, evaluated under the active policy and with the
/// reported raises. It keeps the idempotency key.
async fn retry(
    backend: &Backend,
    evaluated: &EvaluatedCall,
    raises: Vec<RiskRaise>,
) -> Result<EvaluatedCall, StoreError> {
    let EvaluatedCall { incoming, target, parsed, .. } = evaluated;
    let incoming = CallContext {
        id: CallId::new(new_uuid()),
        created_at: now_ms(),
        raises,
        replaces: Some(incoming.id),
        ..incoming.clone()
    };
    let retry = authorize::call(incoming, target.clone(), parsed.clone());
    Ok(reauthorize::afresh(backend, &retry).await?.counted_like(evaluated))
}
