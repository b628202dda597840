//! How many transfers run at once: each takes a place of its person and one of its device until its call ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orion_domain::{DeviceId, ErrorCode, ToolError, UserName};

/// The most transfers of one person at once, on all devices together.
pub(super) const MAX_PER_PERSON: u32 = 8;
/// The most transfers of one device at once, so that other calls find a slot there.
pub(super) const MAX_PER_DEVICE: u32 = 4;

/// The places of transfers.
#[derive(Debug, Default)]
pub struct Places(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    people: HashMap<UserName, u32>,
    devices: HashMap<DeviceId, u32>,
}

/// The place of one transfer; dropping it makes room for another.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    user: UserName,
    device: DeviceId,
}

impl Places {
    /// Takes a place for a transfer of this person on this device.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if the person or the device has none left.
    pub fn take(self: &Arc<Self>, user: &UserName, device: DeviceId) -> Result<Place, ToolError> {
        let mut taken = self.taken();
        let of_person = taken.people.get(user).copied().unwrap_or(0);
        let of_device = taken.devices.get(&device).copied().unwrap_or(0);
        let full = if of_person >= MAX_PER_PERSON {
            format!("{user} has the maximum of {MAX_PER_PERSON} transfers under way.")
        } else if of_device >= MAX_PER_DEVICE {
            format!("The maximum of {MAX_PER_DEVICE} transfers is under way on this device.")
        } else {
            taken.people.insert(user.clone(), of_person + 1);
            taken.devices.insert(device, of_device + 1);
            drop(taken);
            return Ok(Place { places: Arc::clone(self), user: user.clone(), device });
        };
        drop(taken);
        Err(ToolError::new(ErrorCode::ResourceExhausted, full)
            .hint("try again when one of them has ended"))
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        if let Some(count) = taken.people.get_mut(&self.user) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = taken.devices.get_mut(&self.device) {
            *count = count.saturating_sub(1);
        }
        taken.people.retain(|_, count| *count > 0);
        taken.devices.retain(|_, count| *count > 0);
    }
}
