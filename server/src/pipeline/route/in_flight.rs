//! A call in flight: from its dispatch to the report of its device, over lost connections.

use std::time::Duration;

use orion_domain::{CallId, DeviceId, ErrorCode, Hint, Permit, ToolError};
use tokio::time::{Instant, sleep_until};

use super::dispatch_slot::{DispatchSlot, busy, offline};
use crate::bus::Change;
use crate::fleet::{
    ApprovalProof, CallEvent, DeviceLink, DeviceResult, Dispatch, LinkId, PendingCall, SendError,
    SlotError,
};
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::{Pipeline, reconcile};
use crate::store::{CallRow, StoreError};

/// How long a device may take to answer beyond the call's own timeout.
const GRACE: Duration = Duration::from_secs(2);
/// How long a call waits for its device to reconnect after the connection was lost.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// The most times that a call which did not arrive is sent again.
const MAX_RESENDS: u32 = 5;

/// How the wait for a call ended.
#[derive(Debug)]
pub(in crate::pipeline) enum Sent {
    /// The device reported the end.
    Reported(DeviceResult),
    /// The call ends without a report.
    Failed(ToolError),
    /// The device never received the call, which may be sent again.
    NotDelivered,
}

/// A call in flight, for the task that waits for its result.
#[derive(Debug)]
pub(in crate::pipeline) struct InFlight<'a> {
    pipeline: &'a Pipeline,
    slot: DispatchSlot,
    /// Receives the events of the call.
    expected: PendingCall<'a>,
    /// When the call's own timeout is over. None until it is sent for the first time.
    deadline: Option<Instant>,
    /// Whether the call was ever sent to a link.
    was_sent: bool,
    /// Whether a person cancelled the call.
    is_cancelled: bool,
    /// How often the device reported that the call did not arrive.
    not_delivered: u32,
}

impl<'a> InFlight<'a> {
    /// Starts to wait for a call. Returns `None` if the call is in flight already.
    pub(in crate::pipeline) fn expect(
        pipeline: &'a Pipeline,
        call: &EvaluatedCall,
        slot: DispatchSlot,
    ) -> Option<Self> {
        let waiting = pipeline.fleet.waiting();
        let expected = waiting.expect(call.context.id, call.target.device.id)?;
        Some(Self {
            pipeline,
            slot,
            expected,
            deadline: None,
            was_sent: false,
            is_cancelled: false,
            not_delivered: 0,
        })
    }

    /// Sends the call and waits for its end, or for the report that it did not arrive.
    pub(in crate::pipeline) async fn send(
        &mut self,
        call: &EvaluatedCall,
        _permit: Permit,
        proof: Option<ApprovalProof>,
    ) -> Sent {
        let now = Instant::now();
        let time = match self.deadline {
            None => self.pipeline.config.call_timeout(call.context.request.timeout_ms),
            Some(deadline) => deadline.saturating_duration_since(now),
        };
        let deadline = *self.deadline.get_or_insert(now + time);
        if let Err(error) = self.dispatch(call, proof, time) {
            return Sent::Failed(error);
        }
        // Dropping the sender reports that the call was sent.
        drop(self.slot.sent.take());
        if self.not_delivered == 0 {
            self.pipeline.bus.publish(Change::CallMoved(call.context.id));
        }
        self.wait(call, deadline).await
    }

    async fn wait(&mut self, call: &EvaluatedCall, deadline: Instant) -> Sent {
        let (id, device) = (call.context.id, call.target.device.id);
        let (mut linked, mut until) = (true, deadline + GRACE);
        loop {
            tokio::select! {
                event = self.expected.next_event() => match event {
                    CallEvent::Answer(answer) => return Sent::Reported(answer),
                    CallEvent::Stop => {
                        self.is_cancelled = true;
                        self.send_cancel(id);
                    }
                    // A late message of an older stream does not answer this link's query.
                    CallEvent::NotSeen(link) if link != self.slot.link.id() => {}
                    CallEvent::NotSeen(_) => {
                        self.not_delivered += 1;
                        return Sent::NotDelivered;
                    }
                },
                () = self.slot.link.ended(), if linked => {
                    linked = false;
                    until = (deadline + GRACE).min(Instant::now() + RECONNECT_TIMEOUT);
                }
                link = back(self.pipeline, device, self.slot.link.id()), if !linked => {
                    (linked, until) = (true, deadline + GRACE);
                    // A call that runs on the device keeps a slot in the new link, if one is free.
                    if let Some(place) = self.slot.place.take() {
                        let user = &call.context.caller.user;
                        self.slot.place = Some(link.acquire_slot(user).unwrap_or(place));
                    }
                    self.slot.link = link;
                    // The query is the link's first message about this call, so that no other message
                    // overtakes it.
                    self.slot.link.query(&[id]).ok();
                    self.send_cancel(id);
                }
                () = sleep_until(until) => return Sent::Failed(match (linked, self.was_sent) {
                    (_, false) => offline(call),
                    (true, true) => self.timed_out(call),
                    (false, true) => unknown(call),
                }),
            }
        }
    }

    /// Sends the call to the link. If the link has ended, the call has not: the next link is
    /// asked.
    fn dispatch(
        &mut self,
        call: &EvaluatedCall,
        approval: Option<ApprovalProof>,
        time: Duration,
    ) -> Result<(), ToolError> {
        let dispatch = Dispatch {
            call: call.context.id,
            device: call.target.device.id,
            tool: call.target.spec.name,
            arguments: call.parsed.arguments.clone(),
            dry_run: call.context.request.dry_run,
            risk: call.risk(),
            policy_version: call.target.device.policy.version.clone(),
            caller: call.context.caller.clone(),
            approval,
            observe: call.context.observes(),
            observed: call.context.observed.clone(),
        };
        match self.slot.link.dispatch(dispatch, time) {
            Ok(()) => self.was_sent = true,
            Err(SendError::Closed) => {}
            Err(SendError::Full) => return Err(busy(call, SlotError::Full)),
        }
        Ok(())
    }

    /// Sends the cancel if a person cancelled the call. It follows the dispatch, so that the device knows
    /// the call.
    fn send_cancel(&self, call: CallId) {
        if self.is_cancelled {
            self.slot.link.cancel(call).ok();
        }
    }

    /// Returns why a call that did not arrive is not sent again. None if it is decided again.
    ///
    /// # Errors
    /// The database cannot be read.
    pub(in crate::pipeline) async fn given_up(
        &self,
        call: &EvaluatedCall,
        row: &CallRow,
    ) -> Result<Option<ToolError>, StoreError> {
        if reconcile::may_be_forgotten(self.pipeline, row).await? {
            return Ok(Some(reconcile::forgotten(row)));
        }
        if self.is_cancelled {
            let message = "This call was cancelled before it arrived. It was not run.";
            return Ok(Some(ToolError::new(ErrorCode::Cancelled, message)));
        }
        Ok((self.not_delivered > MAX_RESENDS).then(|| offline(call)))
    }

    fn timed_out(&self, call: &EvaluatedCall) -> ToolError {
        let id = call.context.id;
        self.slot.link.cancel(id).ok();
        if call.target.spec.has_effects && !call.context.request.dry_run {
            return ToolError::new(
                ErrorCode::OutcomeUnknown,
                format!(
                    "{} did not answer in time, and whether {} happened is not known yet.",
                    call.target.device.name, call.target.spec.name
                ),
            )
            .hint(Hint::run(
                "read what the device reports later",
                format!("orion audit list --call {id}"),
            ));
        }
        ToolError::new(
            ErrorCode::Timeout,
            format!("{} did not answer in time.", call.target.device.name),
        )
    }
}

fn unknown(call: &EvaluatedCall) -> ToolError {
    ToolError::new(
        ErrorCode::OutcomeUnknown,
        format!(
            "The connection to {} was lost while {} ran, and the device has not reported what happened. When the device is back it reports, and the call is updated.",
            call.target.device.name, call.target.spec.name
        ),
    )
}

/// Waits for the device's next link after this one.
async fn back(pipeline: &Pipeline, device: DeviceId, before: LinkId) -> DeviceLink {
    let mut changes = pipeline.bus.watch_device(device);
    loop {
        let link = pipeline.fleet.link(device);
        if let Some(link) = link.filter(|it| it.id() != before && !it.has_ended()) {
            return link;
        }
        changes.changed().await;
    }
}
