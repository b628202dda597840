//! To the device and back. Takes the permit by value: what was permitted once is sent once.

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

/// How long a device may take to answer beyond the call's own time.
const GRACE: Duration = Duration::from_secs(2);
/// How long a call waits for a device to come back after its link was lost.
const RETURN: Duration = Duration::from_secs(20);

/// How often a call that did not arrive is sent again.
const MOST_SENT_AGAIN: u32 = 5;

/// Records the call as sent, sends it, and waits for its end. Where the device is away and the call may
/// wait for it, it is recorded as waiting instead.
///
/// # Errors
/// The record cannot be kept; then nothing was sent.
pub async fn route(
    backend: &Arc<Backend>,
    judged: &EvaluatedCall,
    permit: Permit,
) -> Result<CallView, StoreError> {
    match DispatchSlot::now(backend, judged) {
        Ok(way) => {
            let (journey, reply) = begin(backend, judged, way).await?;
            journey.go(reply, None, permit).await
        }
        Err(RouteError::Away) if backend.config.queue_time(&judged.incoming.request).is_some() => {
            queue::wait(backend, judged).await
        }
        Err(no_way) => audit::deny_judged(backend, judged, no_way.error(judged)).await,
    }
}

/// The same for what the backend asks for itself, and its end is not on the record yet where the device
/// told it: that is whoever asked to see to.
///
/// # Errors
/// As [`route`].
pub async fn until_told(
    backend: &Arc<Backend>,
    judged: &EvaluatedCall,
    permit: Permit,
) -> Result<End, StoreError> {
    match DispatchSlot::now(backend, judged) {
        Ok(way) => {
            let (mut journey, reply) = begin(backend, judged, way).await?;
            journey.until_told(reply, None, permit).await
        }
        Err(no_way) => {
            audit::deny_judged(backend, judged, no_way.error(judged)).await.map(End::Recorded)
        }
    }
}

async fn begin<'a>(
    backend: &'a Arc<Backend>,
    judged: &'a EvaluatedCall,
    way: DispatchSlot,
) -> Result<(InFlightCall<'a>, CallView), StoreError> {
    let row = audit::row(backend, judged, CallState::Dispatched);
    let reply = CallView::of_new(&row);
    let journey = InFlightCall::on(backend, judged, way).ok_or(StoreError::Conflict)?;
    backend.store.open_call(row).await?;
    judged.release();
    Ok((journey, reply))
}

/// How a call ended that was sent.
#[derive(Debug)]
pub enum End {
    /// It is on the record.
    Recorded(CallView),
    /// Its device told it, and it is not on the record yet.
    Reported(CallView, DeviceResult),
}

/// The same for a call that stands in the record already, with a place among those under way: with a
/// person's yes, or after it waited for its device.
///
/// # Errors
/// The record cannot be kept.
pub async fn resume(
    backend: &Arc<Backend>,
    judged: &EvaluatedCall,
    permit: Permit,
    reply: CallView,
    proof: Option<ApprovalProof>,
    way: DispatchSlot,
) -> Result<CallView, StoreError> {
    let now_sent = async || backend.store.call(&reply.call.to_string()).await.map(CallView::from);
    let Some(journey) = InFlightCall::on(backend, judged, way) else { return now_sent().await };
    let advanced = match &proof {
        // From here on the yes is spent, whatever becomes of the call.
        Some(proof) => backend.store.dispatch_approved(proof.id, now_ms()).await,
        None => backend.store.advance_call(reply.call, CallState::Dispatched, now_ms()).await,
    };
    judged.release();
    match (advanced?, proof) {
        (true, proof) => journey.go(reply, proof, permit).await,
        (false, Some(proof)) => not_spent(backend, proof.id, reply).await,
        (false, None) => now_sent().await,
    }
}

fn order(judged: &EvaluatedCall, approval: Option<ApprovalProof>) -> Dispatch {
    Dispatch {
        call: judged.incoming.id,
        device: judged.target.device.id,
        tool: judged.target.spec.name,
        arguments: judged.parsed.arguments.clone(),
        dry_run: judged.incoming.request.dry_run,
        risk: judged.risk(),
        policy_version: judged.target.device.policy.version.clone(),
        caller: judged.incoming.caller.clone(),
        approval,
        observe: judged.incoming.observe,
        observed: judged.incoming.observed.clone(),
    }
}

/// A call on its way, and whoever waits for its answer.
struct InFlightCall<'a> {
    backend: &'a Arc<Backend>,
    judged: &'a EvaluatedCall,
    way: DispatchSlot,
    /// What is said of it.
    expected: PendingCall<'a>,
    /// Whether it was ever given to a session.
    was_sent: bool,
    /// Whether a person stops it.
    is_stopped: bool,
}

impl<'a> InFlightCall<'a> {
    /// None where the call is on its way already.
    fn on(backend: &'a Arc<Backend>, judged: &'a EvaluatedCall, way: DispatchSlot) -> Option<Self> {
        let expected =
            backend.fleet.waiting().expect(judged.incoming.id, judged.target.device.id)?;
        Some(Self { backend, judged, way, expected, was_sent: false, is_stopped: false })
    }

    async fn go(
        mut self,
        reply: CallView,
        proof: Option<ApprovalProof>,
        permit: Permit,
    ) -> Result<CallView, StoreError> {
        match self.until_told(reply, proof, permit).await? {
            End::Recorded(reply) => Ok(reply),
            End::Reported(reply, answer) => {
                result::close(self.backend, self.judged.target.device.id, reply, answer).await
            }
        }
    }

    async fn until_told(
        &mut self,
        reply: CallView,
        proof: Option<ApprovalProof>,
        _permit: Permit,
    ) -> Result<End, StoreError> {
        let (call, device) = (reply.call, self.judged.target.device.id);
        let time = self.backend.config.call_timeout(self.judged.incoming.request.timeout_ms);
        let deadline = Instant::now() + time;
        if let Err(error) = self.send(order(self.judged, proof.clone()), time) {
            return audit::close(self.backend, reply, error).await.map(End::Recorded);
        }
        // Whoever asked to be told is.
        drop(self.way.sent.take());
        self.backend.bus.publish(Change::CallMoved(call));
        let mut until = deadline + GRACE;
        let (mut linked, mut sent_again) = (true, 0);
        loop {
            tokio::select! {
                word = self.expected.next_event() => match word {
                    CallEvent::Answer(answer) => return Ok(End::Reported(reply, answer)),
                    CallEvent::Stop => {
                        self.is_stopped = true;
                        self.send_cancel(call);
                    }
                    // What an older stream says late is no answer to what this one was asked.
                    CallEvent::NotSeen(session) if session != self.way.session.id() => {}
                    CallEvent::NotSeen(_) => {
                        sent_again += 1;
                        let time = deadline.saturating_duration_since(Instant::now());
                        let again = self.again(&reply, proof.clone(), time, sent_again).await?;
                        if let Some(end) = again {
                            return Ok(End::Recorded(end));
                        }
                    }
                },
                () = self.way.session.ended(), if linked => {
                    linked = false;
                    until = (deadline + GRACE).min(Instant::now() + RETURN);
                }
                session = back(self.backend, device, self.way.session.id()), if !linked => {
                    (linked, until) = (true, deadline + GRACE);
                    // What runs there keeps its place among the calls under way, where there is one.
                    if let Some(place) = self.way.place.take() {
                        let user = &self.judged.incoming.caller.user;
                        self.way.place = Some(session.acquire_slot(user).unwrap_or(place));
                    }
                    self.way.session = session;
                    // It is the new session's first word of this call, so that nothing overtakes it.
                    self.way.session.ask(&[call]).ok();
                    self.send_cancel(call);
                }
                () = sleep_until(until) => {
                    let error = match (linked, self.was_sent) {
                        (_, false) => offline(self.judged),
                        (true, true) => self.timed_out(),
                        (false, true) => self.unknown(),
                    };
                    return audit::close(self.backend, reply, error).await.map(End::Recorded);
                }
            }
        }
    }

    /// Gives the call to the session. A session that has ended meanwhile is not the call's end: the next
    /// one is asked.
    fn send(&mut self, order: Dispatch, time: Duration) -> Result<(), ToolError> {
        match self.way.session.send(ToDevice::Dispatch(Arc::new(order), time)) {
            Ok(()) => self.was_sent = true,
            Err(SendError::Closed) => {}
            Err(SendError::Full) => return Err(busy(self.judged, SlotError::Full)),
        }
        Ok(())
    }

    /// Tells the device that a person stops the call; after what it was sent of it, so that it is heard.
    fn send_cancel(&self, call: CallId) {
        if self.is_stopped {
            self.way.session.send(ToDevice::Cancel(call)).ok();
        }
    }

    /// Sends a call that did not arrive once more, if it still may run. Gives its end where it may not:
    /// then it is certain that it did not run, unless the device may have forgotten that.
    async fn again(
        &mut self,
        reply: &CallView,
        proof: Option<ApprovalProof>,
        time: Duration,
        times: u32,
    ) -> Result<Option<CallView>, StoreError> {
        let close = async |error| audit::close(self.backend, reply.clone(), error).await.map(Some);
        let row = self.backend.store.call(&reply.call.to_string()).await?;
        if reconcile::may_be_forgotten(self.backend, &row).await? {
            return close(reconcile::forgotten(&row)).await;
        }
        if self.is_stopped {
            let message = "This call was cancelled before it arrived. It was not run.";
            return close(ToolError::new(ErrorCode::Cancelled, message)).await;
        }
        if times > MOST_SENT_AGAIN {
            return close(offline(self.judged)).await;
        }
        let fresh = reauthorize::afresh(self.backend, self.judged).await?.counted_like(self.judged);
        let _permit = match self.permitted(&fresh, proof.as_ref()).await? {
            Ok(permit) => permit,
            Err(error) => return close(error).await,
        };
        let row = self.backend.store.call(&reply.call.to_string()).await?;
        if row.state != CallState::Dispatched {
            return Ok(Some(CallView::from(row)));
        }
        let store = &self.backend.store;
        store.audit_call_event("call.sent_again", reply.call, json!({}), now_ms()).await?;
        match self.send(order(&fresh, proof), time) {
            Ok(()) => Ok(None),
            Err(error) => audit::close(self.backend, reply.clone(), error).await.map(Some),
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
        let call = self.judged.incoming.id;
        self.way.session.send(ToDevice::Cancel(call)).ok();
        if self.judged.target.spec.has_effects && !self.judged.incoming.request.dry_run {
            return ToolError::new(
                ErrorCode::OutcomeUnknown,
                format!(
                    "{} did not answer in time, and whether {} happened is not known yet. What the device reports later is added to the record: `orion audit list --call {call}`.",
                    self.judged.target.device.name, self.judged.target.spec.name
                ),
            );
        }
        ToolError::new(
            ErrorCode::Timeout,
            format!("{} did not answer in time.", self.judged.target.device.name),
        )
    }

    fn unknown(&self) -> ToolError {
        ToolError::new(
            ErrorCode::OutcomeUnknown,
            format!(
                "The link to {} was lost while {} was under way, and the device has not said what happened. When it is back it tells, and the record is completed.",
                self.judged.target.device.name, self.judged.target.spec.name
            ),
        )
    }
}

/// The device's next session after this one.
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
