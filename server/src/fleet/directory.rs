//! The directory of links: which device is connected, and how it is reached. Only one link of a device is live.

use std::time::Duration;

use dashmap::Entry;
use orion_domain::{CallId, CallState, DeviceId};

use super::{DeviceLink, Fleet, LinkId, ToDevice};

impl Fleet {
    /// Returns whether the device has a live link.
    #[must_use]
    pub fn is_online(&self, id: DeviceId) -> bool {
        self.link(id).is_some()
    }

    /// Makes this the device's link, and ends an older one. Where a newer link is live, ends this one
    /// and returns `false`.
    pub fn attach(&self, id: DeviceId, link: DeviceLink) -> bool {
        match self.links.entry(id) {
            Entry::Occupied(current) if current.get().is_newer_than(&link) => {
                link.end();
                return false;
            }
            Entry::Occupied(mut current) => current.insert(link).end(),
            Entry::Vacant(free) => {
                free.insert(link);
            }
        }
        true
    }

    /// Removes a link that has ended, unless a newer one has replaced it. Returns whether the device has none now.
    pub fn detach(&self, id: DeviceId, link: LinkId) -> bool {
        self.links.remove_if(&id, |_, current| current.id() == link);
        !self.is_online(id)
    }

    /// Ends the device's live link immediately.
    pub fn disconnect(&self, id: DeviceId) {
        if let Some((_, link)) = self.links.remove(&id) {
            link.end();
        }
    }

    /// Returns the live link of a device.
    #[must_use]
    pub fn link(&self, id: DeviceId) -> Option<DeviceLink> {
        self.links.get(&id).filter(|entry| !entry.has_ended()).map(|entry| entry.clone())
    }

    /// Asks a device to cancel a call, if it is connected and keeps up.
    pub fn cancel(&self, id: DeviceId, call: CallId) {
        self.notify(id, ToDevice::Cancel(call));
    }

    /// Tells a device that the result of a call is stored. A device that misses it sends the result again.
    pub fn acknowledge(&self, id: DeviceId, call: CallId, state: CallState) {
        self.notify(id, ToDevice::Ack(call, state));
    }

    /// Queues a message for a device without waiting. A device with a full queue loses the message; whatever
    /// depends on it ends at its deadline. Returns whether the message was queued.
    pub fn notify(&self, id: DeviceId, message: ToDevice) -> bool {
        self.link(id).is_some_and(|link| link.send(message).is_ok())
    }

    /// Returns how many devices have a link, roughly.
    #[must_use]
    pub fn online(&self) -> usize {
        let itself = usize::from(self.links.contains_key(&DeviceId::BACKEND));
        self.links.len().saturating_sub(itself)
    }

    /// Asks every device to disconnect and to reconnect after this time.
    pub fn drain(&self, reconnect: Duration) {
        for link in &self.links {
            let _ = link.send(ToDevice::Drain { reconnect });
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_newer_connection_takes_over_and_an_older_one_that_comes_late_does_not() {
        let (fleet, device) = (Fleet::default(), DeviceId::new(Uuid::from_u128(1)));
        let link = |generation| DeviceLink::new(generation, 1, CancellationToken::new()).0;
        let (first, second) = (link(1), link(2));
        assert!(fleet.attach(device, second.clone()));
        assert!(!fleet.attach(device, first.clone()));
        assert_eq!((first.has_ended(), second.has_ended()), (true, false));
        assert_eq!(fleet.link(device).map(|it| it.id()), Some(second.id()));
        let third = link(3);
        assert!(fleet.attach(device, third.clone()) && second.has_ended());
        assert!(!fleet.detach(device, second.id()), "the third is live");
        // As after a quarantine, when the device's counter starts again.
        third.end();
        let again = link(1);
        assert!(fleet.attach(device, again.clone()));
        fleet.disconnect(device);
        assert!(fleet.detach(device, again.id()) && again.has_ended());
    }
}
