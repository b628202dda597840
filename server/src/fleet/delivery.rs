//! The right to send a call that waits for its device, so that no two tasks send it.

use orion_domain::CallId;

use super::Fleet;

/// The right to send one call that waits for its device. Nobody else sends the call until this is dropped.
#[derive(Debug)]
pub struct Delivery<'a> {
    fleet: &'a Fleet,
    call: CallId,
}

impl Drop for Delivery<'_> {
    fn drop(&mut self) {
        self.fleet.deliveries.remove(&self.call);
    }
}

impl Fleet {
    /// Returns the right to send a call that waits for its device. `None` where another task is sending it.
    #[must_use]
    pub fn delivery(&self, call: CallId) -> Option<Delivery<'_>> {
        self.deliveries.insert(call).then_some(Delivery { fleet: self, call })
    }
}
