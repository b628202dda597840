//! The places for calls that one device has under way. One person leaves a quarter of them to others.

use std::sync::Arc;

use dashmap::DashMap;
use orion_domain::UserName;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// See the module. Clones are handles to the same places.
#[derive(Debug, Clone)]
pub(super) struct Places {
    all: Arc<Semaphore>,
    most_of_person: u32,
    of_people: Arc<DashMap<UserName, u32>>,
}

/// A place; dropped when its call has ended.
#[derive(Debug)]
pub struct Place {
    user: UserName,
    of_people: Arc<DashMap<UserName, u32>>,
    _place: OwnedSemaphorePermit,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPlace {
    /// All are taken.
    Full,
    /// This person has as many as one may.
    FullOfPerson,
}

impl Places {
    pub(super) fn new(all: u32) -> Self {
        let most_of_person = all.saturating_sub(all / 4).max(1);
        Self {
            all: Arc::new(Semaphore::new(all as usize)),
            most_of_person,
            of_people: Arc::default(),
        }
    }

    /// A place for a call of this person.
    pub(super) fn take(&self, user: &UserName) -> Result<Place, NoPlace> {
        let mut count = self.of_people.entry(user.clone()).or_insert(0);
        let refused = if *count >= self.most_of_person {
            NoPlace::FullOfPerson
        } else if let Ok(place) = Arc::clone(&self.all).try_acquire_owned() {
            *count += 1;
            drop(count);
            return Ok(self.placed(user.clone(), place));
        } else {
            NoPlace::Full
        };
        drop(count);
        self.of_people.remove_if(user, |_, count| *count == 0);
        Err(refused)
    }

    /// Waits for a place for a call of this person that waited. It is one of theirs, and given also where
    /// they have as many as one may.
    pub(super) async fn in_turn(&self, user: &UserName) -> Option<Place> {
        let place = Arc::clone(&self.all).acquire_owned().await.ok()?;
        *self.of_people.entry(user.clone()).or_insert(0) += 1;
        Some(self.placed(user.clone(), place))
    }

    fn placed(&self, user: UserName, place: OwnedSemaphorePermit) -> Place {
        Place { user, of_people: Arc::clone(&self.of_people), _place: place }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(mut count) = self.of_people.get_mut(&self.user) {
            *count = count.saturating_sub(1);
        }
        self.of_people.remove_if(&self.user, |_, count| *count == 0);
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
        assert_eq!(places.take(&ann).unwrap_err(), NoPlace::FullOfPerson);
        let of_bob = places.take(&bob).unwrap();
        assert_eq!(places.take(&bob).unwrap_err(), NoPlace::Full);
        assert_eq!(places.of_people.len(), 2);
        drop((of_ann, of_bob));
        assert!(places.of_people.is_empty());
        // What waited has its turn in any case, and leaves less for what is made anew.
        let mut waited = Vec::new();
        for _ in 0..4 {
            waited.push(places.in_turn(&ann).await.unwrap());
        }
        assert_eq!(places.take(&ann).unwrap_err(), NoPlace::FullOfPerson);
        drop(waited.pop());
        assert_eq!(places.take(&ann).unwrap_err(), NoPlace::FullOfPerson);
        drop(waited);
        assert_eq!((places.all.available_permits(), places.of_people.len()), (4, 0));
        assert!(Places::new(1).take(&ann).is_ok());
    }
}
