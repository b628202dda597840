//! How often a device may tell another ceiling. Each is compiled, kept and audited for good, and an
//! owner does not change their mind all the time; a device that is in wrong hands might.

use std::time::{Duration, Instant};

use dashmap::DashMap;
use orion_domain::DeviceId;

/// How many a device may tell at once.
const MOST: u32 = 30;
/// After how long it may tell one more.
const EVERY: Duration = Duration::from_secs(300);

/// What each device has left.
#[derive(Debug, Default)]
pub(in crate::rpc) struct Pace {
    budgets: DashMap<DeviceId, Budget>,
}

/// What one device had left, and when.
#[derive(Debug, Clone, Copy)]
struct Budget {
    left: u32,
    at: Instant,
}

impl Pace {
    /// Takes one from what a device has left; `false` where there is nothing.
    pub(super) fn take(&self, device: DeviceId, now: Instant) -> bool {
        let mut budget = self.budgets.entry(device).or_insert(Budget { left: MOST, at: now });
        let earned = now.saturating_duration_since(budget.at).as_secs() / EVERY.as_secs();
        let earned = u32::try_from(earned).unwrap_or(MOST);
        let left = budget.left.saturating_add(earned).min(MOST);
        // What is not yet earned is not lost.
        let at = if left == MOST { now } else { budget.at + EVERY * earned };
        *budget = Budget { left: left.saturating_sub(1), at };
        left > 0
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_device_has_so_many_and_one_more_with_time_and_no_other_device_pays_for_it() {
        let (pace, begin) = (Pace::default(), Instant::now());
        let device = |number| DeviceId::new(Uuid::from_u128(number));
        let taken = |number, at| (0..100).filter(|_| pace.take(device(number), at)).count();
        assert_eq!(taken(1, begin), 30);
        assert_eq!(taken(1, begin + EVERY - Duration::from_secs(1)), 0);
        assert_eq!(taken(1, begin + EVERY), 1);
        assert_eq!(taken(1, begin + EVERY * 3 + Duration::from_secs(1)), 2);
        assert_eq!(taken(2, begin), 30);
        assert_eq!(taken(1, begin + EVERY * 1000), 30);
    }
}
