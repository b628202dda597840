//! What wakes those who wait. The database is the record; a message here only says "look again",
//! so a lost one costs time and never truth.

use orion_domain::{ApprovalId, CallId, DeviceId, PlanId};
use tokio::sync::broadcast;

/// Something changed in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A call was sent, waits for its device, or got on.
    CallMoved(CallId),
    /// A call reached a final state.
    CallClosed(CallId),
    /// A question was asked, answered, or ran out.
    Approval(ApprovalId),
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
    pub fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.sender.subscribe()
    }
}

impl Default for Bus {
    fn default() -> Self {
        Self::new()
    }
}
