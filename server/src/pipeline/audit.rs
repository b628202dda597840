//! Records the verdict on a call, denials included, in one transaction. This file and [`super::result`] are
//! the only writers of calls; nothing is sent before its verdict is stored.

pub mod row;

use std::sync::Arc;

use orion_domain::{CallState, ErrorCode, Permit, ToolError};
use serde_json::json;

use super::authorize::EvaluatedCall;
use super::call::{CallContext, StoredCall};
use super::result::DeviceReport;
use super::route::InFlight;
use super::validate::Target;
use super::verdict::{Decided, Held, Subject, ToSend, Verdict};
use super::view::CallView;
use super::{Pipeline, confirm, queue, rate_limit};
use crate::bus::Change;
use crate::clock::now_ms;
use crate::fleet::ApprovalProof;
use crate::store::{AskError, ClosedBy, CommittedWith, NewApproval, QueueError, StoreError};

/// What follows from a recorded verdict.
#[derive(Debug)]
pub(super) enum Recorded<'a> {
    /// Nothing: the call has ended, or waits.
    Rests(CallView),
    /// The call is sent.
    Dispatched(Box<Dispatched<'a>>),
    /// The call is decided again: it has an approval now, or a count changed after it was read.
    Again(Box<CallContext>, Held<'a>),
}

/// A call that is stored as dispatched.
#[derive(Debug)]
pub(super) struct Dispatched<'a> {
    /// The call.
    pub(super) call: EvaluatedCall,
    /// The view of its row.
    pub(super) view: CallView,
    /// The right to send it, once.
    pub(super) permit: Permit,
    /// The approval for the device. None if the call needed none.
    pub(super) proof: Option<ApprovalProof>,
    /// The wait for its result.
    pub(super) in_flight: Box<InFlight<'a>>,
}

/// Records a verdict and returns what follows from it.
///
/// # Errors
/// The database cannot be written; then nothing has changed.
pub(super) async fn record<'a>(
    pipeline: &'a Arc<Pipeline>,
    Decided { mut subject, verdict }: Decided<'a>,
) -> Result<Recorded<'a>, StoreError> {
    let report = subject.context_mut().preview.as_mut().and_then(|it| it.report.take());
    let request = match verdict {
        Verdict::NeedsApproval(request) | Verdict::Preapproved(request) => request,
        Verdict::Dispatch(to_send) => {
            DeviceReport::record_any(report, pipeline).await?;
            return match subject {
                Subject::Evaluated(call) => dispatch(pipeline, *call, *to_send).await,
                // Only an evaluated call has a permit.
                Subject::Unread { .. } => Err(StoreError::Conflict),
            };
        }
        Verdict::Queued => {
            DeviceReport::record_any(report, pipeline).await?;
            return queued(pipeline, subject).await.map(Recorded::Rests);
        }
        Verdict::Unchanged => {
            DeviceReport::record_any(report, pipeline).await?;
            let row = pipeline.store.call(&subject.context().id.to_string()).await?;
            return Ok(Recorded::Rests(CallView::from(row)));
        }
        Verdict::Denied(error) => {
            DeviceReport::record_any(report, pipeline).await?;
            return denied(pipeline, &subject, error).await.map(Recorded::Rests);
        }
    };
    asked(pipeline, subject, *request, report).await
}

/// Stores a denied call that was not evaluated.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn deny(
    pipeline: &Pipeline,
    context: CallContext,
    target: Option<Target>,
    error: ToolError,
) -> Result<CallView, StoreError> {
    denied(pipeline, &Subject::Unread { context: Box::new(context), target }, error).await
}

/// Stores a denial: a new call is opened and closed at once, a stored one is closed.
pub(super) async fn denied(
    pipeline: &Pipeline,
    subject: &Subject,
    error: ToolError,
) -> Result<CallView, StoreError> {
    if let Some(StoredCall { row, .. }) = subject.context().stored_call() {
        return close(pipeline, CallView::from(row.clone()), error).await;
    }
    let verdict = Verdict::Denied(error.clone());
    let row = row::new_row(pipeline, subject, &verdict, CallState::Received);
    let view = CallView::of_new(&row);
    let mut end = view.closing(error);
    // A call that was never sent cannot time out, even if a similar call before it did.
    if !CallState::Received.can_become(end.state) || !end.state.is_closed() {
        end.state = CallState::Denied;
    }
    let view = view.ended(end.state, end.result.clone(), end.at);
    tracing::info!(
        call = %view.call, user = %view.caller.user, tool = ?view.tool, code = ?end.code,
        "a call was denied"
    );
    pipeline.store.open_and_close_call(row, end).await?;
    pipeline.bus.publish(Change::CallClosed(view.call));
    Ok(view)
}

/// Ends a stored call from the backend's side and wakes its waiters. A call that has ended already is not
/// changed.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn close(
    pipeline: &Pipeline,
    view: CallView,
    error: ToolError,
) -> Result<CallView, StoreError> {
    let end = view.closing(error);
    let (state, result, at) = (end.state, end.result.clone(), end.at);
    if !pipeline.store.close_call(end, ClosedBy::Backend).await? {
        return pipeline.store.call(&view.call.to_string()).await.map(CallView::from);
    }
    pipeline.bus.publish(Change::CallClosed(view.call));
    Ok(view.ended(state, result, at))
}

/// Ends a call that was not sent. A call that was sent ends with the result of its device. Returns whether
/// the call ended here.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn close_unsent(
    pipeline: &Pipeline,
    view: &CallView,
    error: ToolError,
) -> Result<bool, StoreError> {
    let is_end = pipeline.store.close_call(view.closing(error), ClosedBy::BackendUnsent).await?;
    if is_end {
        pipeline.bus.publish(Change::CallClosed(view.call));
    }
    Ok(is_end)
}

/// Ends a call that was not sent because the database failed, if the database allows that by now.
pub(super) async fn break_off(pipeline: &Pipeline, view: &CallView) {
    let error = ToolError::new(
        ErrorCode::Internal,
        "The database could not be written, so the call was not sent.",
    )
    .hint("run it again");
    if let Err(error) = close_unsent(pipeline, view, error).await {
        tracing::error!(call = %view.call, %error, "a call that broke off could not be ended");
    }
}

/// Stores a call as dispatched, unless a count of earlier calls has changed what is decided.
async fn dispatch<'a>(
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
    if counting.is_some() {
        let counts = rate_limit::counts_now(pipeline, &call).await?;
        if counts != call.counts {
            let before = call.decision();
            call = call.with(counts);
            match call.permit(None) {
                Ok(fresh) if call.decision() == before && proof.is_none() => permit = fresh,
                Ok(_) | Err(_) => {
                    return Ok(Recorded::Again(Box::new(call.context), Held::Slot(slot)));
                }
            }
        }
    }
    let id = call.context.id;
    let now_stored = async || {
        let row = pipeline.store.call(&id.to_string()).await?;
        Ok(Recorded::Rests(CallView::from(row)))
    };
    let in_flight = InFlight::expect(pipeline, &call, slot);
    let view = match call.context.stored_call() {
        None => {
            let in_flight = in_flight.ok_or(StoreError::Conflict)?;
            let row = row::evaluated(pipeline, &call, CallState::Dispatched);
            let view = CallView::of_new(&row);
            pipeline.store.open_dispatched_call(row).await?;
            drop(counting);
            let in_flight = Box::new(in_flight);
            return Ok(Recorded::Dispatched(Box::new(Dispatched {
                call,
                view,
                permit,
                proof,
                in_flight,
            })));
        }
        Some(stored) => CallView::from(stored.row.clone()),
    };
    // Another task has sent the call.
    let Some(in_flight) = in_flight else { return now_stored().await };
    let advanced = match &proof {
        // From here on the approval is consumed, whatever happens to the call.
        Some(proof) => pipeline.store.dispatch_approved(proof.id, now_ms()).await?,
        None => pipeline.store.advance_call(id, CallState::Dispatched, now_ms()).await?,
    };
    drop(counting);
    match (advanced, &proof) {
        (true, _) => {
            let in_flight = Box::new(in_flight);
            Ok(Recorded::Dispatched(Box::new(Dispatched { call, view, permit, proof, in_flight })))
        }
        (false, Some(proof)) => {
            confirm::not_spent(pipeline, proof.id, view).await.map(Recorded::Rests)
        }
        (false, None) => now_stored().await,
    }
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
    let row = pipeline.store.call(&id.to_string()).await?;
    let state = row.state;
    let view = CallView::from(row);
    if state != CallState::Dispatched {
        return Ok(Recorded::Rests(view));
    }
    pipeline.store.audit_call_event("call.sent_again", id, json!({}), now_ms()).await?;
    Ok(Recorded::Dispatched(Box::new(Dispatched { call, view, permit, proof, in_flight })))
}

/// Stores a call as waiting for its device.
async fn queued(pipeline: &Pipeline, subject: Subject) -> Result<CallView, StoreError> {
    let limits = pipeline.config.queue_limits();
    let (view, device, stored) = match subject.context().stored_call() {
        Some(StoredCall { row, .. }) => {
            let view = CallView::from(row.clone());
            let Some((device, _)) = &row.device else { return Ok(view) };
            let device = *device;
            if row.state == CallState::Queued {
                return Ok(queue::waiting(pipeline, device, view));
            }
            (view, device, pipeline.store.queue_call(row.id, limits, now_ms()).await)
        }
        None => {
            let row = row::new_row(pipeline, &subject, &Verdict::Queued, CallState::Queued);
            let view = CallView::of_new(&row);
            let Some((device, _)) = &row.device else { return Err(StoreError::Conflict) };
            let device = *device;
            (view, device, pipeline.store.open_queued_call(row, limits).await.map(|()| true))
        }
    };
    match stored {
        Ok(true) => Ok(queue::waiting(pipeline, device, view)),
        // Another task changed the call's state and continues with it.
        Ok(false) => pipeline.store.call(&view.call.to_string()).await.map(CallView::from),
        Err(QueueError::Store(error)) => Err(error),
        Err(full @ (QueueError::DeviceFull | QueueError::PersonFull)) => {
            denied(pipeline, &subject, queue::no_room(pipeline, &view, full)).await
        }
    }
}

/// Stores an approval request with its call, and with the preview that it shows.
async fn asked<'a>(
    pipeline: &'a Pipeline,
    subject: Subject,
    request: NewApproval,
    report: Option<DeviceReport>,
) -> Result<Recorded<'a>, StoreError> {
    let Subject::Evaluated(call) = &subject else { return Err(StoreError::Conflict) };
    let (row, view) = match call.context.stored_call() {
        Some(StoredCall { row, .. }) => (None, CallView::from(row.clone())),
        None => {
            let row = row::evaluated(pipeline, call, CallState::Received);
            let view = CallView::of_new(&row);
            (Some(row), view)
        }
    };
    let (id, expires_at, is_standing) =
        (request.id, request.expires_at, request.standing.is_some());
    let along = CommittedWith { call: row, preview: report.as_ref().map(DeviceReport::end) };
    let refused = match pipeline.store.ask(request, along).await {
        Ok(is_end) => {
            if let Some(report) = report
                && let Err(error) = report.recorded(pipeline, is_end).await
            {
                tracing::error!(call = %view.call, %error, "what a device told late of a preview could not be recorded");
            }
            pipeline.bus.publish(Change::Approval(id, view.call));
            if is_standing {
                return approved(pipeline, subject, view).await;
            }
            tracing::info!(call = %view.call, approval = %id, tool = %view.tool, "a person is asked");
            return Ok(Recorded::Rests(confirm::waiting(call, view, (id, expires_at))));
        }
        Err(refused) => refused,
    };
    DeviceReport::record_any(report, pipeline).await?;
    match refused {
        AskError::Store(error) => Err(error),
        full @ (AskError::TooManyOfPerson | AskError::TooMany) => {
            denied(pipeline, &subject, confirm::no_room(full)).await.map(Recorded::Rests)
        }
    }
}

/// Returns the call with the approval that it has just got.
async fn approved<'a>(
    pipeline: &Pipeline,
    subject: Subject,
    view: CallView,
) -> Result<Recorded<'a>, StoreError> {
    let read = async {
        let row = pipeline.store.call(&view.call.to_string()).await?;
        let Some(id) = row.approval else { return Err(StoreError::Conflict) };
        let approval = pipeline.store.approval(&id.to_string()).await?;
        Ok((row, approval))
    };
    let (row, approval) = match read.await {
        Ok(read) => read,
        Err(error) => {
            break_off(pipeline, &view).await;
            return Err(error);
        }
    };
    let Subject::Evaluated(call) = subject else { return Err(StoreError::Conflict) };
    let EvaluatedCall { context, .. } = *call;
    Ok(Recorded::Again(Box::new(context.at(row, Some(approval))), Held::Nothing))
}
