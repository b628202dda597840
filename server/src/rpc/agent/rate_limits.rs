//! Limits how often a device may report another ceiling, and how often the log warns about its invalid
//! messages. Each ceiling is compiled, stored and audited for good, and an owner rarely changes it. A
//! compromised device could change it all the time, and could fill the log.

use std::time::{Duration, Instant};

use dashmap::DashMap;
use orion_domain::DeviceId;

/// How many ceilings or warnings a device may use at once.
const BURST: u32 = 30;
/// Time after which a device may use one more.
const REFILL_INTERVAL: Duration = Duration::from_secs(300);

/// The rate limits of every device.
#[derive(Debug, Default)]
pub(in crate::rpc) struct DeviceRateLimits {
    ceilings: Budgets,
    announcements: Budgets,
    warnings: Budgets,
    /// The last fault that each device reported in its owner's file. No entry where there is none.
    faults: DashMap<DeviceId, String>,
}

impl DeviceRateLimits {
    /// Uses one of the ceilings that a device may report; `false` where none is left.
    pub(super) fn may_report(&self, device: DeviceId, now: Instant) -> bool {
        self.ceilings.take(device, now)
    }

    /// Uses one of the changes of its custom tools that a device may announce; `false` where none is left.
    pub(super) fn may_announce(&self, device: DeviceId, now: Instant) -> bool {
        self.announcements.take(device, now)
    }

    /// Returns whether a device reports another fault in its owner's file than before. Each connection
    /// repeats the last report.
    pub(super) fn is_new_fault(&self, device: DeviceId, fault: &str) -> bool {
        self.faults.get(&device).map_or(!fault.is_empty(), |before| before.as_str() != fault)
    }

    /// Stores the fault that a device reports in its owner's file; an empty text clears it.
    pub(super) fn report_fault(&self, device: DeviceId, fault: String) {
        if fault.is_empty() {
            self.faults.remove(&device);
        } else {
            self.faults.insert(device, fault);
        }
    }

    /// Uses one of the log warnings about a device; `false` where none is left.
    pub(super) fn may_warn(&self, device: DeviceId, now: Instant) -> bool {
        self.warnings.take(device, now)
    }
}

#[derive(Debug, Default)]
struct Budgets(DashMap<DeviceId, Budget>);

/// What one device had left at a point in time.
#[derive(Debug, Clone, Copy)]
struct Budget {
    left: u32,
    at: Instant,
}

impl Budgets {
    /// Takes one from a device's budget; `false` where nothing is left.
    fn take(&self, device: DeviceId, now: Instant) -> bool {
        let mut budget = self.0.entry(device).or_insert(Budget { left: BURST, at: now });
        let earned = now.saturating_duration_since(budget.at).as_secs() / REFILL_INTERVAL.as_secs();
        let earned = u32::try_from(earned).unwrap_or(BURST);
        let left = budget.left.saturating_add(earned).min(BURST);
        // Partly earned time is kept.
        let at = if left == BURST { now } else { budget.at + REFILL_INTERVAL * earned };
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
        assert_eq!(taken(1, begin + REFILL_INTERVAL - Duration::from_secs(1)), 0);
        assert_eq!(taken(1, begin + REFILL_INTERVAL), 1);
        assert_eq!(taken(1, begin + REFILL_INTERVAL * 3 + Duration::from_secs(1)), 2);
        assert_eq!(taken(2, begin), 30);
        assert_eq!(taken(1, begin + REFILL_INTERVAL * 1000), 30);
        // Warnings have a budget of their own.
        let warned = (0..100).filter(|_| pace.may_warn(device(1), begin)).count();
        assert_eq!(warned, 30);
    }
}
