//! Counts how many requests or calls each person has in flight.

use std::sync::Arc;

use dashmap::DashMap;
use orion_domain::UserName;

/// The number of items that each person has in flight. Clones share the counts.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    of_people: Arc<DashMap<UserName, u32>>,
}

/// One counted item of a person; dropping it ends the count.
#[derive(Debug)]
pub struct CountedRequest {
    user: UserName,
    counts: Counts,
}

impl Counts {
    /// Counts one more item of this person. `None` where they have `most` already.
    #[must_use]
    pub fn add_below(&self, user: &UserName, most: u32) -> Option<CountedRequest> {
        let mut count = self.of_people.entry(user.clone()).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        drop(count);
        Some(CountedRequest { user: user.clone(), counts: self.clone() })
    }

    /// Counts one more item of this person, however many they have.
    #[must_use]
    pub fn add(&self, user: &UserName) -> CountedRequest {
        *self.of_people.entry(user.clone()).or_default() += 1;
        CountedRequest { user: user.clone(), counts: self.clone() }
    }

    /// Returns whether nobody has any item.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.of_people.is_empty()
    }
}

impl Drop for CountedRequest {
    fn drop(&mut self) {
        let of_people = &self.counts.of_people;
        if let Some(mut count) = of_people.get_mut(&self.user) {
            *count = count.saturating_sub(1);
        }
        of_people.remove_if(&self.user, |_, count| *count == 0);
    }
}
