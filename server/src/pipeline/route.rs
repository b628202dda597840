//! To the device and back. Takes the permit by value: what was permitted once is sent once.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::evaluate::Decision;
use orion_domain::{CallState, DeviceId, ErrorCode, Permit, ToolError};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::{Instant, sleep_until};

use super::authorize::Judged;
use super::confirm::run::still_holds;
use super::{Reply, audit, queue, renew, result};
use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::fleet::{Order, Proof, Session, SessionId, ToDevice, Word};
use crate::store::StoreError;

/// How long a device may take to answer beyond the call's own time.
const GRACE: Duration = Duration::from_secs(2);
/// How long a call waits for a device to come back after its link was lost.
const RETURN: Duration = Duration::from_secs(20);

/// How often a call that did not arrive is sent again.
const AGAIN: u32 = 5;

/// Records the call as sent, sends it, and waits for its end. Where the device is away and the call may
/// wait for it, it is recorded as waiting instead.
///
/// # Errors
/// The record cannot be kept; then nothing was sent.
pub async fn route(
    backend: &Arc<Backend>,
    judged: &Judged,
    permit: Permit,
) -> Result<Reply, StoreError> {
    match Journey::begin(backend, judged) {
        Ok(journey) => {
            let row = audit::row(backend, judged, CallState::Dispatched);
            let reply = Reply::of_new(&row);
            if let Err(error) = backend.store.open_call(row).await {
                journey.abandon();
                return Err(error);
            }
            judged.release();
            journey.go(reply, None, permit).await
        }
        Err(NoWay::Away) if backend.config.queue_time(&judged.incoming.request).is_some() => {
            queue::wait(backend, judged).await
        }
        Err(no_way) => audit::deny_judged(backend, judged, no_way.error(judged)).await,
    }
}

/// The same for a call that stands in the record already: with a person's yes, or after it waited for
/// its device.
///
/// # Errors
/// The record cannot be kept.
pub async fn resume(
    backend: &Arc<Backend>,
    judged: &Judged,
    permit: Permit,
    reply: Reply,
    proof: Option<Proof>,
) -> Result<Reply, StoreError> {
    let begun = if reply.state == CallState::Queued {
        Journey::begin_in_turn(backend, judged).await
    } else {
        Journey::begin(backend, judged)
    };
    let journey = match begun {
        Ok(journey) => journey,
        // A yes is spent by now, and what waits without one goes on waiting.
        Err(NoWay::Away) if proof.is_none() && reply.state == CallState::Queued => {
            return Ok(reply);
        }
        Err(no_way) => return audit::close(backend, reply, no_way.error(judged)).await,
    };
    let advanced = backend.store.advance_call(reply.call, CallState::Dispatched, now_ms()).await;
    judged.release();
    match advanced {
        Ok(true) => journey.go(reply, proof, permit).await,
        Ok(false) => {
            journey.abandon();
            backend.store.call(&reply.call.to_string()).await.map(Reply::from)
        }
        Err(error) => {
            journey.abandon();
            Err(error)
        }
    }
}

fn order(judged: &Judged, approval: Option<Proof>) -> Order {
    let of_plan = judged.incoming.plan.as_ref();
    Order {
        call: judged.incoming.id,
        device: judged.target.device.id,
        tool: judged.target.spec.name,
        arguments: judged.parsed.arguments.clone(),
        dry_run: judged.incoming.request.dry_run,
        risk: judged.target.spec.risk,
        policy_version: judged.target.device.policy.version.clone(),
        caller: judged.incoming.caller.clone(),
        approval,
        observe: of_plan.is_some_and(|plan| plan.observe),
        observed: of_plan.map(|plan| plan.observed.clone()).unwrap_or_default(),
    }
}

/// Why a call cannot be sent.
#[derive(Debug, Clone, Copy)]
enum NoWay {
    /// The device is not connected.
    Away,
    /// It has its fill.
    Busy,
}

impl NoWay {
    fn error(self, judged: &Judged) -> ToolError {
        match self {
            Self::Away => offline(judged),
            Self::Busy => busy(judged),
        }
    }
}

/// A call that has a place on a live session and waits for its answer.
struct Journey<'a> {
    backend: &'a Arc<Backend>,
    judged: &'a Judged,
    session: Session,
    /// What the device says of it.
    word: oneshot::Receiver<Word>,
    place: OwnedSemaphorePermit,
    /// Whether it was ever given to a session.
    was_sent: bool,
}

impl<'a> Journey<'a> {
    fn begin(backend: &'a Arc<Backend>, judged: &'a Judged) -> Result<Self, NoWay> {
        let session = backend.fleet.session(judged.target.device.id).ok_or(NoWay::Away)?;
        let place = session.place().ok_or(NoWay::Busy)?;
        Ok(Self::with(backend, judged, session, place))
    }

    /// The same, which waits for a place.
    async fn begin_in_turn(backend: &'a Arc<Backend>, judged: &'a Judged) -> Result<Self, NoWay> {
        let session = backend.fleet.session(judged.target.device.id).ok_or(NoWay::Away)?;
        let place = session.place_in_turn().await.ok_or(NoWay::Away)?;
        Ok(Self::with(backend, judged, session, place))
    }

    fn with(
        backend: &'a Arc<Backend>,
        judged: &'a Judged,
        session: Session,
        place: OwnedSemaphorePermit,
    ) -> Self {
        let word = backend.fleet.expect(judged.incoming.id, judged.target.device.id);
        Self { backend, judged, session, word, place, was_sent: false }
    }

    fn abandon(&self) {
        self.backend.fleet.forget(self.judged.incoming.id);
    }

    async fn go(
        mut self,
        reply: Reply,
        proof: Option<Proof>,
        _permit: Permit,
    ) -> Result<Reply, StoreError> {
        let time = self.backend.config.call_timeout(self.judged.incoming.request.timeout_ms);
        let deadline = Instant::now() + time + GRACE;
        let order = Arc::new(order(self.judged, proof.clone()));
        if self.session.send(ToDevice::Dispatch(order, time)).is_ok() {
            self.was_sent = true;
        } else if !self.session.has_ended() {
            self.abandon();
            return audit::close(self.backend, reply, busy(self.judged)).await;
        }
        self.backend.bus.publish(Change::CallMoved(reply.call));
        let mut until = deadline;
        let (mut linked, mut sent_again) = (true, 0);
        let device = self.judged.target.device.id;
        loop {
            tokio::select! {
                word = &mut self.word => match word {
                    Ok(Word::Answer(answer)) => {
                        return result::close(self.backend, device, reply, answer).await;
                    }
                    Ok(Word::NotSeen) => {
                        self.word = self.backend.fleet.expect(reply.call, device);
                        sent_again += 1;
                        let time = deadline.saturating_duration_since(Instant::now());
                        let again = self.again(&reply, proof.clone(), time, sent_again).await;
                        if let Some(end) = again? {
                            return Ok(end);
                        }
                    }
                    // Somebody else took over the waiting; the record knows.
                    Err(_) => return self.backend.store.call(&reply.call.to_string()).await.map(Reply::from),
                },
                () = self.session.ended(), if linked => {
                    linked = false;
                    until = deadline.min(Instant::now() + RETURN);
                }
                session = back(self.backend, device, self.session.id()), if !linked => {
                    (linked, until) = (true, deadline);
                    // What runs there keeps its place among the calls under way, where there is one.
                    if let Some(place) = session.place() {
                        self.place = place;
                    }
                    self.session = session;
                    // It is the new session's first word of this call, so that nothing overtakes it.
                    self.session.send(ToDevice::Query(vec![reply.call])).ok();
                }
                () = sleep_until(until) => {
                    self.abandon();
                    let error = match (linked, self.was_sent) {
                        (_, false) => offline(self.judged),
                        (true, true) => self.timed_out(),
                        (false, true) => self.unknown(),
                    };
                    return audit::close(self.backend, reply, error).await;
                }
            }
        }
    }

    /// Sends a call that did not arrive once more, if it still may run. Gives its end where it may not.
    async fn again(
        &mut self,
        reply: &Reply,
        proof: Option<Proof>,
        time: Duration,
        times: u32,
    ) -> Result<Option<Reply>, StoreError> {
        if times > AGAIN {
            return self.give_back(reply, offline(self.judged)).await.map(Some);
        }
        let fresh = renew::afresh(self.backend, self.judged).await?;
        let _permit = match self.permitted(&fresh, proof.as_ref()).await? {
            Ok(permit) => permit,
            Err(error) => return self.give_back(reply, error).await.map(Some),
        };
        let store = &self.backend.store;
        store.audit_call_event("call.sent_again", reply.call, json!({}), now_ms()).await?;
        let order = Arc::new(order(&fresh, proof));
        if self.session.send(ToDevice::Dispatch(order, time)).is_ok() {
            self.was_sent = true;
        } else if !self.session.has_ended() {
            return self.give_back(reply, busy(self.judged)).await.map(Some);
        }
        Ok(None)
    }

    async fn permitted(
        &self,
        fresh: &Judged,
        proof: Option<&Proof>,
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

    /// Ends a call of which it is certain that it did not run.
    async fn give_back(&self, reply: &Reply, error: ToolError) -> Result<Reply, StoreError> {
        self.abandon();
        // It is as if it had waited: from there it can end in every way.
        self.backend.store.advance_call(reply.call, CallState::Queued, now_ms()).await?;
        audit::close(self.backend, reply.clone(), error).await
    }

    fn timed_out(&self) -> ToolError {
        let call = self.judged.incoming.id;
        self.session.send(ToDevice::Cancel(call)).ok();
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
    let mut changes = backend.bus.subscribe();
    loop {
        let session = backend.fleet.session(device);
        if let Some(session) = session.filter(|it| it.id() != before && !it.has_ended()) {
            return session;
        }
        // A message lost to lag means looking as well.
        let _ = changes.recv().await;
    }
}

fn offline(judged: &Judged) -> ToolError {
    ToolError::new(
        ErrorCode::DeviceOffline,
        format!("{} is not connected.", judged.target.device.name),
    )
}

fn busy(judged: &Judged) -> ToolError {
    ToolError::new(
        ErrorCode::ResourceExhausted,
        format!(
            "{} has as many calls under way as it may. Wait for some to end and try again.",
            judged.target.device.name
        ),
    )
}
