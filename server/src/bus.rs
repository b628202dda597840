//! What wakes those who wait. The database is the record; a message here only says "look again",
//! so a lost one costs time and never truth.

use orion_domain::{ApprovalId, CallId, DeviceId, PlanId};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// Something changed in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A call was sent, waits for its device, or got on.
    CallMoved(CallId),
    /// A call reached a final state.
    CallClosed(CallId),
    /// A question about this call was asked, answered, or ran out.
    Approval(ApprovalId, CallId),
    /// A device came, went or was changed.
    Device(DeviceId),
    /// A plan was made, answered, moved on or ended.
    Plan(PlanId),
}

/// In-process publish and subscribe.
#[derive(Debug, Clone)]
pub struct Bus {
    sender: broadcast::Sender<Change>,
}

/// How many changes a slow subscriber may lag behind before it is told to look at everything.
const BACKLOG: usize = 1024;

impl Bus {
    /// A bus without subscribers.
    #[must_use]
    pub fn new() -> Self {
        Self { sender: broadcast::channel(BACKLOG).0 }
    }

    /// Wakes everyone who waits for this.
    pub fn publish(&self, change: Change) {
        // No subscriber is no error: nobody waits.
        let _ = self.sender.send(change);
    }

    /// Changes from this moment on.
    #[must_use]
    pub fn subscribe(&self) -> Changes {
        Changes(self.sender.subscribe())
    }
}

impl Change {
    /// The call that it is about.
    const fn call(self) -> Option<CallId> {
        match self {
            Self::CallMoved(call) | Self::CallClosed(call) | Self::Approval(_, call) => Some(call),
            Self::Device(_) | Self::Plan(_) => None,
        }
    }
}

/// Changes, for one who waits for them.
#[derive(Debug)]
pub struct Changes(broadcast::Receiver<Change>);

impl Changes {
    /// The next change.
    ///
    /// # Errors
    /// Some were missed, which may have been any; or there will be none.
    pub async fn recv(&mut self) -> Result<Change, RecvError> {
        self.0.recv().await
    }

    /// Waits until this call was sent, got on, was asked about or ended; or until changes were missed,
    /// which may have been that. Whoever is woken looks at the record.
    pub async fn moved(&mut self, call: CallId) {
        self.until(|change| change.call() == Some(call)).await;
    }

    /// Waits until this plan changed, or changes were missed.
    pub async fn plan_moved(&mut self, plan: PlanId) {
        self.until(|change| change == Change::Plan(plan)).await;
    }

    async fn until(&mut self, is_meant: impl Fn(Change) -> bool) {
        while let Ok(change) = self.0.recv().await {
            if is_meant(change) {
                return;
            }
        }
    }
}

impl Default for Bus {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn whoever_waits_for_a_call_is_woken_by_what_is_about_it_and_by_what_was_missed() {
        let call = |n| CallId::new(Uuid::from_u128(n));
        let approval = ApprovalId::new(Uuid::from_u128(9));
        let other = [
            Change::CallMoved(call(2)),
            Change::CallClosed(call(2)),
            Change::Approval(approval, call(2)),
            Change::Device(DeviceId::new(Uuid::from_u128(1))),
            Change::Plan(PlanId::new(Uuid::from_u128(1))),
        ];
        let own = [
            Change::CallMoved(call(1)),
            Change::CallClosed(call(1)),
            Change::Approval(approval, call(1)),
        ];
        for change in own {
            let bus = Bus::new();
            let mut changes = bus.subscribe();
            other.into_iter().for_each(|change| bus.publish(change));
            bus.publish(change);
            bus.publish(Change::CallMoved(call(3)));
            changes.moved(call(1)).await;
            assert_eq!(changes.recv().await, Ok(Change::CallMoved(call(3))), "after {change:?}");
        }
        let bus = Bus::new();
        let mut changes = bus.subscribe();
        (0..=BACKLOG).for_each(|_| bus.publish(other[0]));
        changes.moved(call(1)).await;
    }
}
