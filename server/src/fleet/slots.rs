//! Slots for the calls that one device has in flight. One person leaves a quarter of them to others.

use std::sync::Arc;

use orion_domain::UserName;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::people::{CountedRequest, Counts};

/// The slots of one device. Clones are handles to the same slots.
#[derive(Debug, Clone)]
pub(super) struct Places {
    all: Arc<Semaphore>,
    max_per_person: u32,
    of_people: Counts,
}

/// A slot; dropped when its call has ended.
#[derive(Debug)]
pub struct Place {
    _of_person: CountedRequest,
    _slot: OwnedSemaphorePermit,
}

/// Why no slot is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotError {
    /// Every slot is taken.
    Full,
    /// This person has as many slots as one may.
    FullOfPerson,
}

impl Places {
    pub(super) fn new(all: u32) -> Self {
        let max_per_person = all.saturating_sub(all / 4).max(1);
        Self {
            all: Arc::new(Semaphore::new(all as usize)),
            max_per_person,
            of_people: Counts::default(),
        }
    }

    /// Acquires a slot for a call of this person.
    pub(super) fn take(&self, user: &UserName) -> Result<Place, SlotError> {
        let of_person = self.of_people.add_below(user, self.max_per_person);
        let of_person = of_person.ok_or(SlotError::FullOfPerson)?;
        let slot = Arc::clone(&self.all).try_acquire_owned().map_err(|_| SlotError::Full)?;
        Ok(Place { _of_person: of_person, _slot: slot })
    }

    /// Waits for a slot for a queued call of this person. The slot counts as theirs, and is granted even
    /// where they have as many as one may.
    pub(super) async fn acquire_waiting(&self, user: &UserName) -> Option<Place> {
        let slot = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(Place { _of_person: self.of_people.add(user), _slot: slot })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_person_leaves_some_places_to_others_and_gives_each_back() {
        let [ann, bob] = ["ann", "bob"].map(|name| name.parse::<UserName>().unwrap());
        let places = Places::new(4);
        let of_ann: Vec<_> = (0..3).map(|_| places.take(&ann).unwrap()).collect();
        assert_eq!(places.take(&ann).unwrap_err(), SlotError::FullOfPerson);
        let of_bob = places.take(&bob).unwrap();
        assert_eq!(places.take(&bob).unwrap_err(), SlotError::Full);
        drop((of_ann, of_bob));
        assert!(places.of_people.is_empty());
        // A queued call gets its slot in any case, and leaves fewer for new calls.
        let mut waited = Vec::new();
        for _ in 0..4 {
            waited.push(places.acquire_waiting(&ann).await.unwrap());
        }
        assert_eq!(places.take(&ann).unwrap_err(), SlotError::FullOfPerson);
        drop(waited.pop());
        assert_eq!(places.take(&ann).unwrap_err(), SlotError::FullOfPerson);
        drop(waited);
        assert_eq!((places.all.available_permits(), places.of_people.is_empty()), (4, true));
        assert!(Places::new(1).take(&ann).is_ok());
    }
}
