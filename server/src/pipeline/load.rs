//! How much one person has under way, and whose turn it is where calls are counted.

use std::sync::Arc;

use dashmap::DashMap;
use orion_domain::{DeviceId, ErrorCode, ToolError, UserName};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// From how many turns on those that nobody takes are forgotten.
const TURNS: usize = 1024;

/// See the module.
#[derive(Debug, Default)]
pub struct Load {
    under_way: Arc<DashMap<UserName, u32>>,
    turns: DashMap<(UserName, DeviceId), Arc<Mutex<()>>>,
}

/// One person's call under way; dropped when it has ended or waits for somebody.
#[derive(Debug)]
pub struct Place {
    user: UserName,
    under_way: Arc<DashMap<UserName, u32>>,
}

impl Load {
    /// A place among at most so many.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` where all are taken.
    pub fn place(&self, user: &UserName, most: u32) -> Result<Place, ToolError> {
        let mut count = self.under_way.entry(user.clone()).or_insert(0);
        if *count >= most {
            let message = format!(
                "{user} has {most} calls under way, which is as many as one person may. Wait for some to end and try again."
            );
            return Err(ToolError::new(ErrorCode::ResourceExhausted, message));
        }
        *count += 1;
        drop(count);
        Ok(Place { user: user.clone(), under_way: Arc::clone(&self.under_way) })
    }

    /// Waits until nobody else counts this person's calls on this device. Whoever holds it has
    /// counted and not yet recorded what is to be counted next.
    pub async fn turn(&self, user: &UserName, device: DeviceId) -> OwnedMutexGuard<()> {
        if self.turns.len() >= TURNS {
            self.turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        let turn = Arc::clone(&self.turns.entry((user.clone(), device)).or_default());
        turn.lock_owned().await
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(mut count) = self.under_way.get_mut(&self.user) {
            *count = count.saturating_sub(1);
        }
        self.under_way.remove_if(&self.user, |_, count| *count == 0);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_person_has_so_many_places_and_gets_them_back() {
        let (load, ann): (Load, UserName) = (Load::default(), "ann".parse().unwrap());
        let places: Vec<_> = (0..3).map(|_| load.place(&ann, 3).unwrap()).collect();
        let full = load.place(&ann, 3).unwrap_err();
        assert_eq!(full.code, ErrorCode::ResourceExhausted);
        assert!(full.message.starts_with("ann has 3 calls under way"), "{full:?}");
        assert!(load.place(&"bob".parse().unwrap(), 3).is_ok());
        drop(places);
        assert!(load.under_way.is_empty());
        assert!(load.place(&ann, 3).is_ok());
    }

    #[tokio::test]
    async fn turns_that_nobody_takes_are_forgotten_and_those_that_are_taken_are_not() {
        let (load, ann): (Load, UserName) = (Load::default(), "ann".parse().unwrap());
        let device = |number: usize| DeviceId::new(Uuid::from_u128(number as u128));
        let held = load.turn(&ann, device(0)).await;
        for number in 1..=TURNS {
            drop(load.turn(&ann, device(number)).await);
        }
        assert_eq!(load.turns.len(), 2);
        assert!(load.turns.get(&(ann, device(0))).unwrap().try_lock().is_err());
        drop(held);
    }
}
