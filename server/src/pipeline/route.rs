//! Sends a call to its device and waits for the result. It takes the permit by value: what is permitted
//! once is sent once.

mod dispatch_slot;

use std::sync::Arc;
use std::time::Duration;

use orion_domain::evaluate::Decision;
use orion_domain::{CallId, CallState, DeviceId, ErrorCode, Permit, ToolError};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::authorize::EvaluatedCall;
use super::confirm::run::{not_spent, still_holds};
use super::{CallView, audit, queue, reauthorize, reconcile, result};
use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::fleet::{
    ApprovalProof, CallEvent, DeviceResult, Dispatch, PendingCall, SendError, Session, SessionId,
    SlotError, ToDevice,
};
use crate::store::StoreError;

pub use dispatch_slot::DispatchSlot;
use dispatch_slot::{RouteError, busy, offline};

/// How long a device may take to answer beyond the call's own timeout.
const GRACE: Duration = Duration::from_secs(2);
/// How long a call waits for its device to reconnect after the connection was lost.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// The most times that a call which did not arrive is sent again.
const MAX_RESENDS: u32 = 5;

/// Stores the call as dispatched, sends it, and waits for its end. If the device is not connected and the
/// call may wait, the call is queued instead.
///
/// # Errors
/// The database cannot be written; then nothing was sent.
pub async fn route(
    backend: &Arc<Backend>,
    evaluated: &EvaluatedCall,
    permit: Permit,
) -> Result<CallView, StoreError> {
    match DispatchSlot::now(backend, evaluated) {
        Ok(slot) => {
            let (in_flight, view) = begin(backend, evaluated, slot).await?;
            in_flight.go(view, None, permit).await
        }
        Err(RouteError::Away)
            if backend.config.queue_time(&evaluated.incoming.request).is_some() =>
        {
            queue::wait(backend, evaluated).await
        }
        Err(route_error) => {
            audit::deny_judged(backend, evaluated, route_error.error(evaluated)).await
        }
    }
}

/// Routes a call that the backend makes for itself. If the device reports the end, that end is not stored
/// yet: the caller stores it.
///
/// # Errors
/// As [`route`].
pub async fn until_told(
    backend: &Arc<Backend>,
    evaluated: &EvaluatedCall,
    permit: Permit,
) -> Result<End, StoreError> {
    match DispatchSlot::now(backend, evaluated) {
        Ok(slot) => {
            let (mut in_flight, view) = begin(backend, evaluated, slot).await?;
            in_flight.until_told(view, None, permit).await
        }
        Err(route_error) => audit::deny_judged(backend, evaluated, route_error.error(evaluated))
            .await
            .map(End::Recorded),
    }
}

async fn begin<'a>(
    backend: &'a Arc<Backend>,
    evaluated: &'a EvaluatedCall,
    slot: DispatchSlot,
) -> Result<(InFlightCall<'a>, CallView), StoreError> {
    let row = audit::row(backend, evaluated, CallState::Dispatched);
    let view = CallView::of_new(&row);
    let in_flight = InFlightCall::on(backend, evaluated, slot).ok_or(StoreError::Conflict)?;
    backend.store.open_dispatched_call(row).await?;
    evaluated.release();
    Ok((in_flight, view))
}

/// How a dispatched call ended.
#[derive(Debug)]
pub enum End {
    /// The end is stored.
    Recorded(CallView),
    /// The device reported the end, and it is not stored yet.
    Reported(CallView, DeviceResult),
}

/// Routes a call that is stored already and has a slot: with an approval, or after it waited for its
/// device.
///
/// # Errors
/// The database cannot be written.
pub async fn resume(
    backend: &Arc<Backend>,
    evaluated: &EvaluatedCall,
    permit: Permit,
    view: CallView,
    proof: Option<ApprovalProof>,
    slot: DispatchSlot,
) -> Result<CallView, StoreError> {
    let now_sent = async || backend.store.call(&view.call.to_string()).await.map(CallView::from);
    let Some(in_flight) = InFlightCall::on(backend, evaluated, slot) else {
        return now_sent().await;
    };
    let advanced = match &proof {
        // From here on the approval is consumed, whatever happens to the call.
        Some(proof) => backend.store.dispatch_approved(proof.id, now_ms()).await,
        None => backend.store.advance_call(view.call, CallState::Dispatched, now_ms()).await,
    };
    evaluated.release();
    match (advanced?, proof) {
        (true, proof) => in_flight.go(view, proof, permit).await,
        (false, Some(proof)) => not_spent(backend, proof.id, view).await,
        (false, None) => now_sent().await,
    }
}

fn dispatch(evaluated: &EvaluatedCall, approval: Option<ApprovalProof>) -> Dispatch {
    Dispatch {
        call: evaluated.incoming.id,
        device: evaluated.target.device.id,
        tool: evaluated.target.spec.name,
        arguments: evaluated.parsed.arguments.clone(),
        dry_run: evaluated.incoming.request.dry_run,
        risk: evaluated.risk(),
        policy_version: evaluated.target.device.policy.version.clone(),
        caller: evaluated.incoming.caller.clone(),
        approval,
        observe: evaluated.incoming.observe,
        observed: evaluated.incoming.observed.clone(),
    }
}

/// A call in flight, with the task that waits for its result.
struct InFlightCall<'a> {
    backend: &'a Arc<Backend>,
    evaluated: &'a EvaluatedCall,
    slot: DispatchSlot,
    /// Receives the events of the call.
    expected: PendingCall<'a>,
    /// Whether the call was ever sent to a session.
    was_sent: bool,
    /// Whether a person cancelled the call.
    is_stopped: bool,
}

impl<'a> InFlightCall<'a> {
    /// Returns `None` if the call is in flight already.
    fn on(
        backend: &'a Arc<Backend>,
        evaluated: &'a EvaluatedCall,
        slot: DispatchSlot,
    ) -> Option<Self> {
        let expected =
            backend.fleet.waiting().expect(evaluated.incoming.id, evaluated.target.device.id)?;
        Some(Self { backend, evaluated, slot, expected, was_sent: false, is_stopped: false })
    }

    async fn go(
        mut self,
        view: CallView,
        proof: Option<ApprovalProof>,
        permit: Permit,
    ) -> Result<CallView, StoreError> {
        match self.until_told(view, proof, permit).await? {
            End::Recorded(view) => Ok(view),
            End::Reported(view, answer) => {
                result::close(self.backend, self.evaluated.target.device.id, view, answer).await
            }
        }
    }

    async fn until_told(
        &mut self,
        view: CallView,
        proof: Option<ApprovalProof>,
        _permit: Permit,
    ) -> Result<End, StoreError> {
        let (call, device) = (view.call, self.evaluated.target.device.id);
        let time = self.backend.config.call_timeout(self.evaluated.incoming.request.timeout_ms);
        let deadline = Instant::now() + time;
        if let Err(error) = self.send(dispatch(self.evaluated, proof.clone()), time) {
            return audit::close(self.backend, view, error).await.map(End::Recorded);
        }
        // Dropping the sender reports that the call was sent.
        drop(self.slot.sent.take());
        self.backend.bus.publish(Change::CallMoved(call));
        let mut until = deadline + GRACE;
        let (mut linked, mut sent_again) = (true, 0);
        loop {
            tokio::select! {
                event = self.expected.next_event() => match event {
                    CallEvent::Answer(answer) => return Ok(End::Reported(view, answer)),
                    CallEvent::Stop => {
                        self.is_stopped = true;
                        self.send_cancel(call);
                    }
                    // A late message of an older stream does not answer this session's query.
                    CallEvent::NotSeen(session) if session != self.slot.session.id() => {}
                    CallEvent::NotSeen(_) => {
                        sent_again += 1;
                        let time = deadline.saturating_duration_since(Instant::now());
                        let resend = self.resend(&view, proof.clone(), time, sent_again).await?;
                        if let Some(end) = resend {
                            return Ok(End::Recorded(end));
                        }
                    }
                },
                () = self.slot.session.ended(), if linked => {
                    linked = false;
                    until = (deadline + GRACE).min(Instant::now() + RECONNECT_TIMEOUT);
                }
                session = back(self.backend, device, self.slot.session.id()), if !linked => {
                    (linked, until) = (true, deadline + GRACE);
                    // A call that runs on the device keeps a slot in the new session, if one is free.
                    if let Some(place) = self.slot.place.take() {
                        let user = &self.evaluated.incoming.caller.user;
                        self.slot.place = Some(session.acquire_slot(user).unwrap_or(place));
                    }
                    self.slot.session = session;
                    // The query is the session's first message about this call, so that no other message
                    // overtakes it.
                    self.slot.session.ask(&[call]).ok();
                    self.send_cancel(call);
                }
                () = sleep_until(until) => {
                    let error = match (linked, self.was_sent) {
                        (_, false) => offline(self.evaluated),
                        (true, true) => self.timed_out(),
                        (false, true) => self.unknown(),
                    };
                    return audit::close(self.backend, view, error).await.map(End::Recorded);
                }
            }
        }
    }

    /// Sends the call to the session. If the session has ended, the call has not: the next session is
    /// asked.
    fn send(&mut self, dispatch: Dispatch, time: Duration) -> Result<(), ToolError> {
        match self.slot.session.send(ToDevice::Dispatch(Arc::new(dispatch), time)) {
            Ok(()) => self.was_sent = true,
            Err(SendError::Closed) => {}
            Err(SendError::Full) => return Err(busy(self.evaluated, SlotError::Full)),
        }
        Ok(())
    }

    /// Sends the cancel if a person cancelled the call. It follows the dispatch, so that the device knows
    /// the call.
    fn send_cancel(&self, call: CallId) {
        if self.is_stopped {
            self.slot.session.send(ToDevice::Cancel(call)).ok();
        }
    }

    /// Sends a call that did not arrive again, if it may still run. Otherwise returns its end: it is
    /// certain that the call did not run, unless the device may have forgotten it.
    async fn resend(
        &mut self,
        view: &CallView,
        proof: Option<ApprovalProof>,
        time: Duration,
        times: u32,
    ) -> Result<Option<CallView>, StoreError> {
        let close = async |error| audit::close(self.backend, view.clone(), error).await.map(Some);
        let row = self.backend.store.call(&view.call.to_string()).await?;
        if reconcile::may_be_forgotten(self.backend, &row).await? {
            return close(reconcile::forgotten(&row)).await;
        }
        if self.is_stopped {
            let message = "This call was cancelled before it arrived. It was not run.";
            return close(ToolError::new(ErrorCode::Cancelled, message)).await;
        }
        if times > MAX_RESENDS {
            return close(offline(self.evaluated)).await;
        }
        let fresh =
            reauthorize::afresh(self.backend, self.evaluated).await?.counted_like(self.evaluated);
        let _permit = match self.permitted(&fresh, proof.as_ref()).await? {
            Ok(permit) => permit,
            Err(error) => return close(error).await,
        };
        let row = self.backend.store.call(&view.call.to_string()).await?;
        if row.state != CallState::Dispatched {
            return Ok(Some(CallView::from(row)));
        }
        let store = &self.backend.store;
        store.audit_call_event("call.sent_again", view.call, json!({}), now_ms()).await?;
        match self.send(dispatch(&fresh, proof), time) {
            Ok(()) => Ok(None),
            Err(error) => audit::close(self.backend, view.clone(), error).await.map(Some),
        }
    }

    async fn permitted(
        &self,
        fresh: &EvaluatedCall,
        proof: Option<&ApprovalProof>,
    ) -> Result<Result<Permit, ToolError>, StoreError> {
        let approved = match proof {
            Some(proof) => {
                let approval = self.backend.store.approval(&proof.id.to_string()).await?;
                match still_holds(fresh, &approval) {
                    Ok(approved) => Some(approved),
                    Err(error) => return Ok(Err(*error)),
                }
            }
            None => None,
        };
        Ok(match fresh.decision() {
            Decision::Deny => Err(fresh.refusal()),
            Decision::Ask | Decision::DryRunFirst if approved.is_none() => {
                Err(queue::needs_a_person())
            }
            Decision::Allow | Decision::Ask | Decision::DryRunFirst => {
                fresh.permit(approved).map_err(|error| *error)
            }
        })
    }

    fn timed_out(&self) -> ToolError {
        let call = self.evaluated.incoming.id;
        self.slot.session.send(ToDevice::Cancel(call)).ok();
        if self.evaluated.target.spec.has_effects && !self.evaluated.incoming.request.dry_run {
            return ToolError::new(
                ErrorCode::OutcomeUnknown,
                format!(
                    "{} did not answer in time, and whether {} happened is not known yet. What the device reports later is added to the audit log: `orion audit list --call {call}`.",
                    self.evaluated.target.device.name, self.evaluated.target.spec.name
                ),
            );
        }
        ToolError::new(
            ErrorCode::Timeout,
            format!("{} did not answer in time.", self.evaluated.target.device.name),
        )
    }

    fn unknown(&self) -> ToolError {
        ToolError::new(
            ErrorCode::OutcomeUnknown,
            format!(
                "The connection to {} was lost while {} ran, and the device has not reported what happened. When the device is back it reports, and the call is updated.",
                self.evaluated.target.device.name, self.evaluated.target.spec.name
            ),
        )
    }
}

/// Waits for the device's next session after this one.
async fn back(backend: &Backend, device: DeviceId, before: SessionId) -> Session {
    let mut changes = backend.bus.watch_device(device);
    loop {
        let session = backend.fleet.session(device);
        if let Some(session) = session.filter(|it| it.id() != before && !it.has_ended()) {
            return session;
        }
        changes.changed().await;
    }
}
