//! How many transfers run at once: each takes a place of its person and one of its device until its call ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orion_domain::{DeviceId, ErrorCode, ToolError, UserName};

/// The most transfers of one person at once, on all devices together.
pub(super) const MAX_PER_PERSON: u32 = 8;
/// The most transfers of one device at once, so that other calls find a slot there.
pub(super) const MAX_PER_DEVICE: u32 = 4;
/// The most transfers of one person on one device, so that other people find a place there.
pub(super) const MAX_PER_PERSON_AND_DEVICE: u32 = 3;

/// The places of transfers: how many each holder has taken.
#[derive(Debug, Default)]
pub struct Places(Mutex<HashMap<Holder, u32>>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Holder {
    Person(UserName),
    Device(DeviceId),
    PersonOnDevice(UserName, DeviceId),
}

/// The place of one transfer; dropping it makes room for another.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    holders: [Holder; 3],
}

impl Places {
    /// Takes a place for a transfer of this person on this device.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if the person or the device has none left.
    pub fn take(self: &Arc<Self>, user: &UserName, device: DeviceId) -> Result<Place, ToolError> {
        let holders = [
            Holder::Person(user.clone()),
            Holder::PersonOnDevice(user.clone(), device),
            Holder::Device(device),
        ];
        let mut taken = self.taken();
        let is_full = |holder: &&Holder| taken.get(holder).is_some_and(|it| *it >= holder.most());
        if let Some(full) = holders.iter().find(is_full) {
            return Err(ToolError::new(ErrorCode::ResourceExhausted, full.to_string())
                .hint("try again when one of them has ended"));
        }
        for holder in &holders {
            *taken.entry(holder.clone()).or_default() += 1;
        }
        drop(taken);
        Ok(Place { places: Arc::clone(self), holders })
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.taken().is_empty()
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<Holder, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Holder {
    const fn most(&self) -> u32 {
        match self {
            Self::Person(_) => MAX_PER_PERSON,
            Self::Device(_) => MAX_PER_DEVICE,
            Self::PersonOnDevice(..) => MAX_PER_PERSON_AND_DEVICE,
        }
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let most = self.most();
        match self {
            Self::Person(user) => {
                write!(f, "{user} has the maximum of {most} transfers under way.")
            }
            Self::Device(_) => {
                write!(f, "The maximum of {most} transfers is under way on this device.")
            }
            Self::PersonOnDevice(user, _) => {
                write!(f, "{user} has the maximum of {most} transfers under way on this device.")
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        for holder in &self.holders {
            if let Some(count) = taken.get_mut(holder) {
                *count = count.saturating_sub(1);
            }
        }
        taken.retain(|_, count| *count > 0);
    }
}
