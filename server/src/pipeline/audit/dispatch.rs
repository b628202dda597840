//! Records that a call is sent: a new call is stored as dispatched, a stored one moves on, and an approval is
//! consumed.

use std::sync::Arc;

use orion_domain::{CallState, Permit};
use serde_json::json;

use super::{Dispatched, Recorded, row};
use crate::clock::now_ms;
use crate::fleet::ApprovalProof;
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::call::CallContext;
use crate::pipeline::route::{DispatchSlot, InFlight};
use crate::pipeline::verdict::{Held, ToSend};
use crate::pipeline::view::CallView;
use crate::pipeline::{Pipeline, confirm, rate_limit};
use crate::store::StoreError;

/// Stores a call as dispatched, unless a count of earlier calls has changed what is decided.
pub(super) async fn dispatch<'a>(
    pipeline: &'a Pipeline,
    mut call: EvaluatedCall,
    ToSend { mut permit, proof, held }: ToSend<'a>,
) -> Result<Recorded<'a>, StoreError> {
    let slot = match held {
        Held::Slot(slot) => slot,
        Held::InFlight(in_flight) => return again(pipeline, call, permit, proof, in_flight).await,
        Held::Nothing => return Err(StoreError::Conflict),
    };
    // Two calls at once are counted one after the other: nothing else is held while they are evaluated.
    let counting = if rate_limit::is_limited(&call) {
        let (user, device) = (&call.context.caller.user, call.target.device.id);
        Some(pipeline.limits.counting(user, device).await)
    } else {
        None
    };
    // Another policy, or another state of the device, decides again.
    let known = pipeline.fleet.known(call.target.device.id);
    let device = &call.target.device;
    let evaluated = device.widened_from.as_ref().unwrap_or(device);
    if !known.is_some_and(|known| Arc::ptr_eq(&known, evaluated)) {
        return Ok(decide_again(call, slot));
    }
    if counting.is_some() {
        let counts = rate_limit::counts_now(pipeline, &call).await?;
        if counts != call.counts {
            let before = call.decision();
            call = call.with(counts);
            match call.permit(None) {
                Ok(fresh) if call.decision() == before && proof.is_none() => permit = fresh,
                Ok(_) | Err(_) => return Ok(decide_again(call, slot)),
            }
        }
    }
    let id = call.context.id;
    let now_stored = async || {
        let row = pipeline.store.call(id).await?;
        Ok(Recorded::Rests(CallView::from(row)))
    };
    let in_flight = InFlight::expect(pipeline, &call, slot);
    let (in_flight, view) = match (call.context.stored_call(), in_flight) {
        (None, None) => return Err(StoreError::Conflict),
        // Another task has sent the call.
        (Some(_), None) => return now_stored().await,
        (None, Some(in_flight)) => {
            let row = row::evaluated(pipeline, &call, CallState::Dispatched);
            let view = CallView::of_new(&row);
            pipeline.store.open_dispatched_call(row).await?;
            (in_flight, view)
        }
        (Some(stored), Some(in_flight)) => {
            let view = CallView::from(stored.row.clone());
            let advanced = match &proof {
                // From here on the approval is consumed, whatever happens to the call.
                Some(proof) => pipeline.store.dispatch_approved(proof.id, now_ms()).await?,
                None => pipeline.store.advance_call(id, CallState::Dispatched, now_ms()).await?,
            };
            if !advanced {
                drop(counting);
                return match proof {
                    Some(proof) => {
                        confirm::not_spent(pipeline, proof.id, view).await.map(Recorded::Rests)
                    }
                    None => now_stored().await,
                };
            }
            (in_flight, view)
        }
    };
    drop(counting);
    let in_flight = Box::new(in_flight);
    Ok(Recorded::Dispatched(Box::new(Dispatched { call, view, permit, proof, in_flight })))
}

/// Returns the call with its slot. The person is looked at again.
fn decide_again<'a>(call: EvaluatedCall, slot: DispatchSlot) -> Recorded<'a> {
    let context = CallContext { is_fresh: false, ..call.context };
    Recorded::Again(Box::new(context), Held::Slot(slot))
}

/// Records that a call is sent again which did not arrive.
async fn again<'a>(
    pipeline: &Pipeline,
    call: EvaluatedCall,
    permit: Permit,
    proof: Option<ApprovalProof>,
    in_flight: Box<InFlight<'a>>,
) -> Result<Recorded<'a>, StoreError> {
    let id = call.context.id;
    let row = pipeline.store.call(id).await?;
    let state = row.state;
    let view = CallView::from(row);
    if state != CallState::Dispatched {
        return Ok(Recorded::Rests(view));
    }
    pipeline.store.audit_call_event("call.sent_again", id, json!({}), now_ms()).await?;
    Ok(Recorded::Dispatched(Box::new(Dispatched { call, view, permit, proof, in_flight })))
}
