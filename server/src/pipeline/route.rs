//! To the device and back. Takes the permit by value: what was permitted once is sent once.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::{CallState, ErrorCode, Permit, ToolError};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::authorize::Judged;
use super::{Reply, audit, result};
use crate::backend::Backend;
use crate::fleet::{Answer, Order, Proof, Session, ToDevice};
use crate::store::StoreError;

/// How long a device may take to answer beyond the call's own time.
const GRACE: Duration = Duration::from_secs(2);
/// How long a call waits for a device to come back after its link was lost.
const RETURN: Duration = Duration::from_secs(20);

/// Records the call as sent, sends it, and waits for its end.
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
            journey.go(reply, order(backend, judged, None), permit).await
        }
        Err(error) => audit::deny_judged(backend, judged, error).await,
    }
}

/// The same for a call that stands in the record already, with a person's yes.
///
/// # Errors
/// The record cannot be kept.
pub async fn resume(
    backend: &Arc<Backend>,
    judged: &Judged,
    permit: Permit,
    reply: Reply,
    proof: Proof,
) -> Result<Reply, StoreError> {
    let journey = match Journey::begin(backend, judged) {
        Ok(journey) => journey,
        Err(error) => return audit::close(backend, reply, error).await,
    };
    let advanced =
        backend.store.advance_call(reply.call, CallState::Dispatched, crate::clock::now_ms()).await;
    judged.release();
    match advanced {
        Ok(true) => journey.go(reply, order(backend, judged, Some(proof)), permit).await,
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

fn order(backend: &Backend, judged: &Judged, approval: Option<Proof>) -> Order {
    let of_plan = judged.incoming.plan.as_ref();
    Order {
        call: judged.incoming.id,
        device: judged.target.device.id,
        tool: judged.target.spec.name,
        arguments: judged.parsed.arguments.clone(),
        dry_run: judged.incoming.request.dry_run,
        time_left: backend.config.call_timeout(judged.incoming.request.timeout_ms),
        risk: judged.target.spec.risk,
        policy_version: judged.target.device.policy.version.clone(),
        caller: judged.incoming.caller.clone(),
        approval,
        observe: of_plan.is_some_and(|plan| plan.observe),
        observed: of_plan.map(|plan| plan.observed.clone()).unwrap_or_default(),
    }
}

/// A call that has a place on a live session and waits for its answer.
struct Journey<'a> {
    backend: &'a Arc<Backend>,
    judged: &'a Judged,
    session: Session,
    answer: oneshot::Receiver<Answer>,
    _place: tokio::sync::OwnedSemaphorePermit,
}

impl<'a> Journey<'a> {
    fn begin(backend: &'a Arc<Backend>, judged: &'a Judged) -> Result<Self, ToolError> {
        let device = &judged.target.device;
        let Some(session) = backend.fleet.session(device.id) else {
            return Err(offline(judged));
        };
        let Some(place) = session.place() else {
            return Err(busy(judged));
        };
        let answer = backend.fleet.expect(judged.incoming.id, device.id);
        Ok(Self { backend, judged, session, answer, _place: place })
    }

    fn abandon(&self) {
        self.backend.fleet.forget(self.judged.incoming.id);
    }

    async fn go(
        mut self,
        reply: Reply,
        order: Order,
        _permit: Permit,
    ) -> Result<Reply, StoreError> {
        let time_left = order.time_left;
        if self.session.send(ToDevice::Dispatch(Box::new(order))).is_err() {
            self.abandon();
            let error =
                if self.session.has_ended() { offline(self.judged) } else { busy(self.judged) };
            return audit::close(self.backend, reply, error).await;
        }
        let mut deadline = Instant::now() + time_left + GRACE;
        let mut linked = true;
        loop {
            tokio::select! {
                answer = &mut self.answer => {
                    return match answer {
                        Ok(answer) => result::close(self.backend, self.judged.target.device.id, reply, answer).await,
                        // Somebody else took over the waiting; the record knows.
                        Err(_) => self.backend.store.call(&reply.call.to_string()).await.map(Reply::from),
                    };
                }
                () = self.session.ended(), if linked => {
                    linked = false;
                    deadline = deadline.min(Instant::now() + RETURN);
                }
                () = sleep_until(deadline) => {
                    self.abandon();
                    let error = if linked { self.timed_out() } else { self.unknown() };
                    return audit::close(self.backend, reply, error).await;
                }
            }
        }
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
