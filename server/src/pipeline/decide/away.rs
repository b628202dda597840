//! The verdict on a call whose device is not connected: it waits if it may, or ends.

use orion_domain::evaluate::Decision;
use orion_domain::{ErrorCode, ToolError};

use crate::clock::now_ms;
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::call::CallContext;
use crate::pipeline::evaluate::Stopped;
use crate::pipeline::verdict::{Decided, Verdict};
use crate::pipeline::{Pipeline, queue};

/// Returns the verdict on a call whose preview failed with this error: it waits if its device is away.
pub(super) fn would_fail<'a>(
    pipeline: &Pipeline,
    call: EvaluatedCall,
    error: ToolError,
) -> Decided<'a> {
    // A call that was sent before ends: nobody would wait for it.
    if call.context.was_sent() || !queue::is_away(pipeline, call.target.device.id, &error) {
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

/// Returns the verdict on a stopped call. A stored call whose device has disconnected waits on. A new one for a
/// device that has never connected waits too, if it may: its arguments fit the tool, and everything else, the
/// permissions included, is evaluated when the device connects.
pub(super) fn stopped_while_away<'a>(pipeline: &Pipeline, stopped: Stopped) -> Decided<'a> {
    if let Some(target) = &stopped.target
        && stopped.context.stored_call().is_none()
        && target.device.facts.is_none()
        && queue::is_away(pipeline, target.device.id, &stopped.error)
        && queue::may_queue(pipeline, &stopped.context)
    {
        let Stopped { mut context, target: Some(target), .. } = stopped else {
            return Decided::from(stopped);
        };
        // It is stored under the tool's own name, whose arguments are named otherwise than those of an alias.
        target.spec.adapt_arguments(target.alias, &mut context.request.arguments);
        return Decided::unread(context, Some(target), Verdict::Queued);
    }
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
pub(super) fn away<'a>(context: &CallContext) -> Verdict<'a> {
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
