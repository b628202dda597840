//! How long to wait before the next attempt. Full jitter, so that a thousand devices that lost the
//! same backend do not reconnect in the same moment.

use std::time::Duration;

const BASE: Duration = Duration::from_millis(200);
const CAP: Duration = Duration::from_secs(30);
/// The longest wait that a backend may request.
const MAX_HINT: Duration = Duration::from_mins(1);
/// The wait between attempts when only a person can remove the cause.
const LASTING: Duration = Duration::from_mins(5);
/// After this time, a connection counts as stable and resets the backoff.
pub const STABLE: Duration = Duration::from_mins(1);

/// Counts failures in a row.
#[derive(Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Returns the wait after one more failure; `random` is uniform between 0 and 1.
    pub fn after_failure(&mut self, random: f64) -> Duration {
        let limit = BASE.saturating_mul(1 << self.failures.min(16)).min(CAP);
        self.failures = self.failures.saturating_add(1);
        limit.mul_f64(random.clamp(0.0, 1.0))
    }

    /// Returns the wait after an established connection was lost: about what the backend requested.
    #[must_use]
    pub fn after_loss(&mut self, hint: Duration, random: f64) -> Duration {
        if hint.is_zero() || self.failures > 0 {
            return self.after_failure(random);
        }
        self.failures = 1;
        hint.min(MAX_HINT).mul_f64(random.clamp(0.0, 1.0))
    }

    /// Returns the wait when an early retry is useless: 2.5 to 5 minutes.
    #[must_use]
    pub fn after_refusal(random: f64) -> Duration {
        LASTING.mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0)
    }

    /// Resets the count of failures after a stable connection.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound_and_never_overflow() {
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..10).map(|_| backoff.after_failure(1.0).as_millis()).collect();
        assert_eq!(waits, [200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
        for _ in 0..100_000 {
            assert!(backoff.after_failure(1.0) <= CAP);
        }
        backoff.reset();
        assert_eq!(backoff.after_failure(1.0), BASE);
    }

    #[test]
    fn jitter_is_full() {
        let mut backoff = Backoff { failures: 20 };
        assert_eq!(backoff.after_failure(0.0), Duration::ZERO);
        assert_eq!(backoff.after_failure(0.5), CAP / 2);
        assert!(backoff.after_failure(f64::INFINITY) <= CAP);
    }

    #[test]
    fn a_backends_wish_is_heard_once_and_within_bounds() {
        let mut backoff = Backoff::default();
        let hour = Duration::from_hours(1);
        assert_eq!(backoff.after_loss(hour, 1.0), MAX_HINT);
        // The connection is lost again at once, so the count of failures continues.
        assert_eq!(backoff.after_loss(hour, 1.0), 2 * BASE);
        assert_eq!(Backoff::default().after_loss(Duration::ZERO, 1.0), BASE);
    }

    #[test]
    fn a_refused_device_comes_back_slowly() {
        assert_eq!(Backoff::after_refusal(0.0), LASTING / 2);
        assert_eq!(Backoff::after_refusal(1.0), LASTING);
    }
}
