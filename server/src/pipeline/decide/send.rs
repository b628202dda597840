//! The verdict on a call that may run: it is sent in a slot of its device, is queued, or is denied.

use crate::fleet::ApprovalProof;
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::call::Origin;
use crate::pipeline::route::{DispatchSlot, RouteError};
use crate::pipeline::verdict::{Decided, Held, ToSend, Verdict};
use crate::pipeline::{Pipeline, confirm, plan, queue};

/// Returns the verdict on a call that may run: sent in its slot, queued or denied.
pub(super) fn send<'a>(pipeline: &'a Pipeline, call: EvaluatedCall, held: Held<'a>) -> Decided<'a> {
    if let Origin::PlanStep { shown: Some(shown), .. } = &call.context.origin
        && !plan::is_as_shown(&call, shown)
    {
        return Decided::denied(call, plan::another());
    }
    let approval = call.context.approval();
    let approved = match approval.map(|approval| confirm::still_holds(&call, approval)) {
        None => None,
        Some(Ok(approved)) => Some(approved),
        Some(Err(error)) => return Decided::denied(call, *error),
    };
    let permit = match call.permit(approved) {
        Ok(permit) => permit,
        Err(error) => return Decided::denied(call, *error),
    };
    let proof = call.context.approval().map(|approval| ApprovalProof {
        id: approval.id,
        binding: approval.binding,
        approved_by: approval.decided_by.as_ref().map(ToString::to_string).unwrap_or_default(),
        expires_at: approval.expires_at,
        raises: approval.card.raises.clone(),
        basis: approval.basis(),
    });
    let held = match held {
        Held::Nothing => match DispatchSlot::now(pipeline, &call) {
            Ok(slot) => Held::Slot(slot),
            // It waited before it was evaluated, and waits on.
            Err(_) if call.context.is_queued() => {
                return Decided::evaluated(call, Verdict::Unchanged);
            }
            Err(RouteError::Away) if queue::may_queue(pipeline, &call.context) => {
                return Decided::evaluated(call, Verdict::Queued);
            }
            Err(error) => {
                let error = error.error(&call);
                return Decided::denied(call, error);
            }
        },
        held @ (Held::Slot(_) | Held::InFlight(_)) => held,
    };
    Decided::evaluated(call, Verdict::Dispatch(Box::new(ToSend { permit, proof, held })))
}
