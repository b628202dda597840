//! How often a device may tell another ceiling, and how often the log tells what it says wrong. Each ceiling
//! is compiled, kept and audited for good, and an owner does not change their mind all the time; a device
//! that is in wrong hands might, and might fill the log.

use std::time::{Duration, Instant};

use dashmap::DashMap;
use orion_domain::DeviceId;

/// How many there may be of a device at once.
const MOST: u32 = 30;
/// After how long there may be one more.
const EVERY: Duration = Duration::from_secs(300);

/// What each device has left.
#[derive(Debug, Default)]
pub(in crate::rpc) struct DeviceRateLimits {
    ceilings: Budgets,
    warnings: Budgets,
    /// What each device said last is wrong with its owner's file, where something is.
    faults: DashMap<DeviceId, String>,
}

impl DeviceRateLimits {
    /// Takes one of the ceilings that a device may tell; `false` where there is none.
    pub(super) fn may_report(&self, device: DeviceId, now: Instant) -> bool {
        self.ceilings.take(device, now)
    }

    /// Whether a device said something else, or nothing, of its owner's file before. It says the same again
    /// with each connection.
    pub(super) fn is_new_fault(&self, device: DeviceId, fault: &str) -> bool {
        self.faults.get(&device).map_or(!fault.is_empty(), |before| before.as_str() != fault)
    }

    /// Keeps what a device says of its owner's file; nothing where that is as it should be.
    pub(super) fn report_fault(&self, device: DeviceId, fault: String) {
        if fault.is_empty() {
            self.faults.remove(&device);
        } else {
            self.faults.insert(device, fault);
        }
    }

    /// Takes one of the warnings that the log gets about a device; `false` where there is none.
    pub(super) fn may_warn(&self, device: DeviceId, now: Instant) -> bool {
        self.warnings.take(device, now)
    }
}

#[derive(Debug, Default)]
struct Budgets(DashMap<DeviceId, Budget>);

/// What one device had left, and when.
#[derive(Debug, Clone, Copy)]
struct Budget {
    left: u32,
    at: Instant,
}

impl Budgets {
    /// Takes one from what a device has left; `false` where there is nothing.
    fn take(&self, device: DeviceId, now: Instant) -> bool {
        let mut budget = self.0.entry(device).or_insert(Budget { left: MOST, at: now });
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
    fn the_same_fault_again_is_no_news() {
        let (pace, device) = (DeviceRateLimits::default(), DeviceId::new(Uuid::from_u128(1)));
        assert!(!pace.is_new_fault(device, ""));
        assert!(pace.is_new_fault(device, "line 3"));
        pace.report_fault(device, "line 3".to_owned());
        assert!(!pace.is_new_fault(device, "line 3"));
        assert!(pace.is_new_fault(device, "line 4") && pace.is_new_fault(device, ""));
        pace.report_fault(device, String::new());
        assert!(!pace.is_new_fault(device, "") && pace.is_new_fault(device, "line 3"));
    }

    #[test]
    fn a_device_has_so_many_and_one_more_with_time_and_no_other_device_pays_for_it() {
        let (pace, begin) = (DeviceRateLimits::default(), Instant::now());
        let device = |number| DeviceId::new(Uuid::from_u128(number));
        let taken = |number, at| (0..100).filter(|_| pace.may_report(device(number), at)).count();
        assert_eq!(taken(1, begin), 30);
        assert_eq!(taken(1, begin + EVERY - Duration::from_secs(1)), 0);
        assert_eq!(taken(1, begin + EVERY), 1);
        assert_eq!(taken(1, begin + EVERY * 3 + Duration::from_secs(1)), 2);
        assert_eq!(taken(2, begin), 30);
        assert_eq!(taken(1, begin + EVERY * 1000), 30);
        // What the log tells of it is counted by itself.
        let warned = (0..100).filter(|_| pace.may_warn(device(1), begin)).count();
        assert_eq!(warned, 30);
    }
}
