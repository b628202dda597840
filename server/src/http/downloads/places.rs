//! How many agents are sent at once: in all, and to one address. A device that reads slowly takes no place of others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::listen::Source;

/// The most agents that are sent at once.
const MAX_DOWNLOADS: usize = 32;
/// The most of them to one address.
const MAX_DOWNLOADS_PER_ADDRESS: usize = 8;

/// The downloads under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Places(Arc<Mutex<HashMap<Source, usize>>>);

/// One download under way.
#[derive(Debug)]
pub(super) struct Place {
    places: Places,
    source: Source,
}

impl Places {
    /// Takes a place until the value is dropped. None if there is none.
    pub(super) fn take(&self, source: Source) -> Option<Place> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.get(&source).copied().unwrap_or_default();
        if own >= MAX_DOWNLOADS_PER_ADDRESS || taken.values().sum::<usize>() >= MAX_DOWNLOADS {
            return None;
        }
        taken.insert(source.clone(), own + 1);
        Some(Place { places: self.clone(), source })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.0.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(&self.source) {
            Some(own) if *own > 1 => *own -= 1,
            Some(_) | None => {
                taken.remove(&self.source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_share_and_all_together_have_a_limit() {
        let places = Places::default();
        let source = |last: u8| Source::Address([10, 0, 0, last].into());
        let mut held: Vec<_> = (0..32).map(|at| places.take(source(at / 8)).unwrap()).collect();
        assert!(places.take(source(9)).is_none());
        held.pop();
        assert!(places.take(source(0)).is_none());
        held.push(places.take(source(9)).unwrap());
        held.clear();
        assert!(places.0.lock().unwrap().is_empty());
        let own: Vec<_> = (0..8).map(|_| places.take(source(0)).unwrap()).collect();
        assert!(places.take(source(0)).is_none() && places.take(source(1)).is_some());
        drop(own);
    }
}
