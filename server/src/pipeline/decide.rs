//! Decides what happens to a call. Stores nothing but the previews that it asks for, sends nothing but those,
//! and asks nobody.

use std::sync::Arc;

use orion_domain::evaluate::Decision;
use orion_domain::{ErrorCode, ToolError};

use super::authorize::EvaluatedCall;
use super::call::{CallContext, Origin};
use super::confirm::{self, change, standing};
use super::evaluate::{Stopped, is_previewed, measured, previewed};
use super::preview::Preview;
use super::route::{DispatchSlot, RouteError};
use super::verdict::{Decided, Held, ToSend, Verdict};
use super::{Pipeline, plan, queue};
use crate::clock::now_ms;
use crate::fleet::ApprovalProof;
use crate::store::StoreError;

/// Decides what happens to a call at this moment.
///
/// # Errors
/// The database cannot be read, or a preview cannot be stored.
pub(super) async fn decide<'a>(
    pipeline: &'a Arc<Pipeline>,
    context: CallContext,
    mut held: Held<'a>,
) -> Result<Decided<'a>, StoreError> {
    // An approval is consumed when its call is sent, and not before its device has a free slot.
    if let (Some(approval), Held::Nothing) = (context.approval(), &held) {
        let slot = DispatchSlot::wait_for(pipeline, approval.device.0, &context.caller.user).await;
        match slot {
            Some(slot) => held = Held::Slot(slot),
            None => {
                let verdict = away(&context);
                return Ok(Decided::unread(context, None, verdict));
            }
        }
    }
    let mut call = match measured(pipeline, context).await? {
        Ok(call) => call,
        Err(stopped) => return Ok(stopped_while_away(pipeline, *stopped)),
    };
    if asks(&call) {
        if !matches!(call.context.origin, Origin::Change { .. })
            && let Some(standing) = standing::find(pipeline, &call).await?
        {
            let request = confirm::preapproved(pipeline, &call, standing);
            return Ok(Decided::evaluated(call, Verdict::Preapproved(Box::new(request))));
        }
        // The slot is free for another call until the approval.
        held = Held::Nothing;
        // The risks that only the device's disk shows are evaluated before anybody is asked.
        if call.target.spec.has_effects && !is_previewed(&call) {
            let context = previewed(pipeline, call).await?;
            call = match measured(pipeline, context).await? {
                Ok(call) => call,
                Err(stopped) => return Ok(stopped_while_away(pipeline, *stopped)),
            };
        }
    }
    conclude(pipeline, call, held).await
}

/// Returns whether a call can run only after somebody is asked, and somebody is to be asked.
fn asks(call: &EvaluatedCall) -> bool {
    let is_asked = matches!(call.decision(), Decision::Ask | Decision::DryRunFirst);
    is_asked && refused_unasked(&call.context).is_none() && call.context.approval().is_none()
}

/// Returns why nobody is asked about this call, whatever it needs. None if somebody may be asked.
fn refused_unasked(context: &CallContext) -> Option<fn(&EvaluatedCall) -> ToolError> {
    match &context.origin {
        Origin::Preview { .. } => Some(EvaluatedCall::refusal),
        Origin::PlanStep { shown: Some(_), .. } => Some(|_| plan::another()),
        Origin::Direct | Origin::Chat | Origin::Change { .. } | Origin::PlanStep { .. } => {
            context.was_sent().then_some(|_| queue::needs_a_person())
        }
    }
}

async fn conclude<'a>(
    pipeline: &'a Arc<Pipeline>,
    call: EvaluatedCall,
    held: Held<'a>,
) -> Result<Decided<'a>, StoreError> {
    if let Some(Preview::WouldFail(error)) = call.preview() {
        let error = error.clone();
        return Ok(would_fail(pipeline, call, error));
    }
    if let Origin::Change { author } = &call.context.origin {
        // The rights of the author may have changed since the answer.
        if let Err(error) = change::is_within(pipeline, author.clone(), &call).await? {
            return Ok(Decided::denied(call, error));
        }
    }
    match call.decision() {
        Decision::Deny => {
            let error = call.refusal();
            Ok(Decided::denied(call, error))
        }
        Decision::Allow => Ok(send(pipeline, call, held)),
        Decision::Ask | Decision::DryRunFirst if call.context.approval().is_some() => {
            Ok(send(pipeline, call, held))
        }
        Decision::Ask | Decision::DryRunFirst => {
            if let Some(refusal) = refused_unasked(&call.context) {
                let error = refusal(&call);
                return Ok(Decided::denied(call, error));
            }
            Ok(match confirm::request(pipeline, &call) {
                Ok(request) => Decided::evaluated(call, Verdict::NeedsApproval(Box::new(request))),
                Err(error) => would_fail(pipeline, call, error),
            })
        }
    }
}

/// Returns the verdict on a call that may run: sent in its slot, queued or denied.
fn send<'a>(pipeline: &'a Pipeline, call: EvaluatedCall, held: Held<'a>) -> Decided<'a> {
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

/// Returns the verdict on a call whose preview failed with this error: it waits if its device is away.
fn would_fail<'a>(pipeline: &Pipeline, call: EvaluatedCall, error: ToolError) -> Decided<'a> {
    if !queue::is_away(pipeline, call.target.device.id, &error) {
        return Decided::denied(call, error);
    }
    if call.context.stored_call().is_some() {
        let verdict = away(&call.context);
        return Decided::evaluated(call, verdict);
    }
    if !queue::may_queue(pipeline, &call.context) {
        return Decided::denied(call, error);
    }
    // Its quantity is evaluated when the device is back.
    let call = if call.decision() == Decision::Deny { call.as_if_small() } else { call };
    if call.decision() == Decision::Deny {
        let error = call.refusal();
        return Decided::denied(call, error);
    }
    Decided::evaluated(call, Verdict::Queued)
}

/// Returns the verdict on a stopped call. A stored call whose device went away meanwhile waits on.
fn stopped_while_away<'a>(pipeline: &Pipeline, stopped: Stopped) -> Decided<'a> {
    let device = stopped.context.stored_call().and_then(|stored| stored.row.device.as_ref());
    if let Some((device, _)) = device
        && !stopped.context.was_sent()
        && queue::is_away(pipeline, *device, &stopped.error)
    {
        let verdict = away(&stopped.context);
        return Decided::unread(stopped.context, stopped.target, verdict);
    }
    Decided::from(stopped)
}

/// Returns the verdict on a stored call whose device is not connected: it waits if it may, or ends.
fn away<'a>(context: &CallContext) -> Verdict<'a> {
    let Some(stored) = context.stored_call() else { return Verdict::Unchanged };
    let Some(approval) = &stored.approval else { return Verdict::Unchanged };
    let may_wait =
        approval.plan.is_none() && stored.row.queued_until.is_some_and(|until| until > now_ms());
    if may_wait {
        return Verdict::Queued;
    }
    let message = format!("{} is not connected.", approval.device.1);
    Verdict::Denied(ToolError::new(ErrorCode::DeviceOffline, message))
}
