//! Decides what happens to a call. Stores nothing but the previews that it asks for, sends nothing but those,
//! and asks nobody.

mod away;
mod send;

use std::sync::Arc;

use orion_domain::ToolError;
use orion_domain::evaluate::Decision;

use super::authorize::EvaluatedCall;
use super::call::{CallContext, Origin};
use super::confirm::{self, change, standing};
use super::evaluate::{is_previewed, measured, previewed};
use super::preview::Preview;
use super::route::DispatchSlot;
use super::verdict::{Decided, Held, Verdict};
use super::{Pipeline, content, plan, queue};
use crate::store::StoreError;

use away::{away, stopped_while_away, would_fail};
use send::send;

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
    let mut call = match possible(pipeline, context).await? {
        Ok(call) => call,
        Err(decided) => return Ok(*decided),
    };
    if asks(&call) {
        if !matches!(call.context.origin, Origin::Change { .. })
            && let Some(standing) = standing::find(pipeline, &call).await?
        {
            let request = confirm::preapproved(pipeline, &call, standing);
            return Ok(Decided::evaluated(call, Verdict::NeedsApproval(Box::new(request))));
        }
        // The slot is free for another call until the approval.
        held = Held::Nothing;
        // The risks that only the device's disk shows are evaluated before anybody is asked.
        if call.target.spec.has_effects && !is_previewed(&call) {
            let context = previewed(pipeline, call).await?;
            call = match possible(pipeline, context).await? {
                Ok(call) => call,
                Err(decided) => return Ok(*decided),
            };
        }
    }
    conclude(pipeline, call, held).await
}

/// Evaluates a call. The inner error is the verdict on a call that was stopped, or that would fail by its
/// preview.
async fn possible<'a>(
    pipeline: &Arc<Pipeline>,
    context: CallContext,
) -> Result<Result<EvaluatedCall, Box<Decided<'a>>>, StoreError> {
    let call = match measured(pipeline, context).await? {
        Ok(call) => call,
        Err(stopped) => return Ok(Err(Box::new(stopped_while_away(pipeline, *stopped)))),
    };
    if let Some(Preview::WouldFail(error)) = call.preview() {
        let error = error.clone();
        return Ok(Err(Box::new(would_fail(pipeline, call, error))));
    }
    Ok(Ok(call))
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
    if let Origin::Change { author } = &call.context.origin {
        // The rights of the author may have changed since the answer.
        if let Err(error) = change::is_within(pipeline, author.clone(), &call).await? {
            return Ok(Decided::denied(call, error));
        }
    }
    if call.decision() != Decision::Deny
        && let Some(error) = content::refusal(pipeline, &call).await?
    {
        return Ok(Decided::denied(call, error));
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
