//! A call in flight: from its dispatch to the report of its device, over lost connections.

mod failure;
mod wait;

use std::time::Duration;

use orion_domain::{CallId, Permit, ToolError};
use tokio::time::Instant;

use super::dispatch_slot::{DispatchSlot, busy};
use crate::bus::Change;
use crate::fleet::{ApprovalProof, DeviceResult, Dispatch, PendingCall, SendError, SlotError};
use crate::pipeline::Pipeline;
use crate::pipeline::authorize::EvaluatedCall;
use crate::transfers::Place;

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
    /// Whether the cancel is to be sent again, because the device was slow.
    is_cancel_due: bool,
    /// How often the device reported that the call did not arrive.
    not_delivered: u32,
    /// The place of a call whose content moves beside it. None for any other.
    place: Option<Place>,
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
            is_cancel_due: false,
            not_delivered: 0,
            place: None,
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
            None => {
                self.pipeline.config.timeout_of(call.target.spec, call.context.request.timeout_ms)
            }
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

    /// Sends the call to the link. If the link has ended, the call has not: the next link is
    /// asked.
    fn dispatch(
        &mut self,
        call: &EvaluatedCall,
        approval: Option<ApprovalProof>,
        time: Duration,
    ) -> Result<(), ToolError> {
        let (user, device) = (&call.context.caller.user, call.target.device.id);
        if call.target.spec.content.is_beside()
            && !call.context.request.dry_run
            && self.place.is_none()
        {
            self.place = Some(self.pipeline.transfers.places().take(user, device)?);
        }
        // A stop is set before this, and the call is not sent, or after it, and the call is cancelled.
        let _unstopped = self.pipeline.stops.pass(user, device)?;
        let dispatch = Dispatch {
            call: call.context.id,
            device,
            tool: call.target.spec.name,
            arguments: call.parsed.arguments.clone(),
            dry_run: call.context.request.dry_run,
            risk: call.risk(),
            policy_version: call.target.device.policy.version.clone(),
            caller: call.context.caller.clone(),
            approval,
            observe: call.context.observes(),
            observed: call.context.observed.clone(),
            definition: call.parsed.touches.definition,
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
    fn send_cancel(&mut self, call: CallId) {
        self.is_cancel_due =
            self.is_cancelled && self.slot.link.cancel(call) == Err(SendError::Full);
    }
}
