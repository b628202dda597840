//! How much one person has under way, and whose turn it is where calls are counted.

use std::sync::Arc;

use dashmap::{DashMap, DashSet};
use orion_domain::{CallId, DeviceId, ErrorCode, ToolError, UserName};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::people::{CountedRequest, Counts};

/// From how many turns on those that nobody takes are forgotten.
const TURNS: usize = 1024;

/// See the module.
#[derive(Debug, Default)]
pub struct CallLimits {
    under_way: Counts,
    attempted: Arc<DashSet<CallId>>,
    turns: DashMap<(UserName, DeviceId), Arc<Mutex<()>>>,
}

/// A call that another may be made in place of; dropped when that is settled.
#[derive(Debug)]
pub struct Attempted {
    call: CallId,
    attempted: Arc<DashSet<CallId>>,
}

impl CallLimits {
    /// From here on another call may be made in place of this one.
    pub fn attempted(&self, call: CallId) -> Attempted {
        self.attempted.insert(call);
        Attempted { call, attempted: Arc::clone(&self.attempted) }
    }

    /// Whether another call may yet be made in place of this one.
    pub fn is_attempted(&self, call: CallId) -> bool {
        self.attempted.contains(&call)
    }

    /// A place among at most so many, for a call until it has ended or waits for somebody.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` where all are taken.
    pub fn acquire_slot(&self, user: &UserName, most: u32) -> Result<CountedRequest, ToolError> {
        self.under_way.add_below(user, most).ok_or_else(|| {
            let message = format!(
                "{user} has {most} calls under way, which is as many as one person may. Wait for some to end and try again."
            );
            ToolError::new(ErrorCode::ResourceExhausted, message)
        })
    }

    /// Waits until nobody else counts this person's calls on this device. Whoever holds it has
    /// counted and not yet recorded what is to be counted next.
    pub async fn rate_lock(&self, user: &UserName, device: DeviceId) -> OwnedMutexGuard<()> {
        if self.turns.len() >= TURNS {
            self.turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        let turn = Arc::clone(&self.turns.entry((user.clone(), device)).or_default());
        turn.lock_owned().await
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
        assert!(full.message.starts_with("ann has 3 calls under way"), "{full:?}");
        assert!(load.acquire_slot(&"bob".parse().unwrap(), 3).is_ok());
        drop(places);
        assert!(load.under_way.is_empty());
        assert!(load.acquire_slot(&ann, 3).is_ok());
    }

    #[tokio::test]
    async fn turns_that_nobody_takes_are_forgotten_and_those_that_are_taken_are_not() {
        let (load, ann): (CallLimits, UserName) = (CallLimits::default(), "ann".parse().unwrap());
        let device = |number: usize| DeviceId::new(Uuid::from_u128(number as u128));
        let held = load.rate_lock(&ann, device(0)).await;
        for number in 1..=TURNS {
            drop(load.rate_lock(&ann, device(number)).await);
        }
        assert_eq!(load.turns.len(), 2);
        assert!(load.turns.get(&(ann, device(0))).unwrap().try_lock().is_err());
        drop(held);
    }
}
