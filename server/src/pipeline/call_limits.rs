//! Limits the calls in flight of each person, and locks the counting of a person's calls on a device.

use std::sync::Arc;

use dashmap::{DashMap, DashSet};
use orion_domain::{CallId, DeviceId, ErrorCode, ToolError, UserName};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::people::{CountedRequest, Counts};

/// From this number of rate locks on, unused ones are dropped.
const MAX_IDLE_LOCKS: usize = 1024;

/// The calls in flight of each person, and the rate locks.
#[derive(Debug, Default)]
pub struct CallLimits {
    under_way: Counts,
    attempted: Arc<DashSet<CallId>>,
    counting: DashMap<(UserName, DeviceId), Arc<Mutex<()>>>,
}

/// A call that another may still replace; dropped when that is decided.
#[derive(Debug)]
pub struct Attempted {
    call: CallId,
    attempted: Arc<DashSet<CallId>>,
}

impl CallLimits {
    /// Marks a call that another may replace from this moment on.
    pub fn attempted(&self, call: CallId) -> Attempted {
        self.attempted.insert(call);
        Attempted { call, attempted: Arc::clone(&self.attempted) }
    }

    /// Returns whether another call may still replace this one.
    pub fn is_attempted(&self, call: CallId) -> bool {
        self.attempted.contains(&call)
    }

    /// Returns one of `most` slots of a person, held until the call ends or waits for a person.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if no slot is free.
    pub fn acquire_slot(&self, user: &UserName, most: u32) -> Result<CountedRequest, ToolError> {
        self.under_way.add_below(user, most).ok_or_else(|| {
            let message = format!("{user} has the maximum of {most} calls in flight.");
            ToolError::new(ErrorCode::ResourceExhausted, message)
                .hint("wait for some calls to end, then try again")
        })
    }

    /// Waits until no other call of this person on this device is being counted. The holder has counted and
    /// has not stored the call that is counted next.
    pub async fn counting(&self, user: &UserName, device: DeviceId) -> OwnedMutexGuard<()> {
        if self.counting.len() >= MAX_IDLE_LOCKS {
            self.counting.retain(|_, lock| Arc::strong_count(lock) > 1);
        }
        let lock = Arc::clone(&self.counting.entry((user.clone(), device)).or_default());
        lock.lock_owned().await
    }
}

impl Drop for Attempted {
    fn drop(&mut self) {
        self.attempted.remove(&self.call);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_person_has_so_many_places_and_gets_them_back() {
        let (load, ann): (CallLimits, UserName) = (CallLimits::default(), "ann".parse().unwrap());
        let places: Vec<_> = (0..3).map(|_| load.acquire_slot(&ann, 3).unwrap()).collect();
        let full = load.acquire_slot(&ann, 3).unwrap_err();
        assert_eq!(full.code, ErrorCode::ResourceExhausted);
        assert!(full.message.starts_with("ann has the maximum of 3 calls"), "{full:?}");
        assert!(load.acquire_slot(&"bob".parse().unwrap(), 3).is_ok());
        drop(places);
        assert!(load.under_way.is_empty());
        assert!(load.acquire_slot(&ann, 3).is_ok());
    }

    #[tokio::test]
    async fn turns_that_nobody_takes_are_forgotten_and_those_that_are_taken_are_not() {
        let (load, ann): (CallLimits, UserName) = (CallLimits::default(), "ann".parse().unwrap());
        let device = |number: usize| DeviceId::new(Uuid::from_u128(number as u128));
        let held = load.counting(&ann, device(0)).await;
        for number in 1..=MAX_IDLE_LOCKS {
            drop(load.counting(&ann, device(number)).await);
        }
        assert_eq!(load.counting.len(), 2);
        assert!(load.counting.get(&(ann, device(0))).unwrap().try_lock().is_err());
        drop(held);
    }
}
