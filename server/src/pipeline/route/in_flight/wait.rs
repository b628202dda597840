//! Waits for the end of a call in flight, over lost connections.

use std::time::Duration;

use orion_domain::DeviceId;
use tokio::time::{Instant, sleep, sleep_until};

use super::failure::unknown;
use super::{InFlight, Sent};
use crate::fleet::{CallEvent, DeviceLink, LinkId};
use crate::pipeline::Pipeline;
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::route::dispatch_slot::offline;

/// How long a device may take to answer beyond the call's own timeout.
const GRACE: Duration = Duration::from_secs(2);

/// How long until a cancel is sent again to a device that is slow to receive.
const CANCEL_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// How long a call waits for its device to reconnect after the connection was lost.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(20);

impl<'a> InFlight<'a> {
    pub(super) async fn wait(&mut self, call: &EvaluatedCall, deadline: Instant) -> Sent {
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
                () = sleep(CANCEL_RETRY_INTERVAL), if self.is_cancel_due => self.send_cancel(id),
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
