//! The wall clock, read in one place. Code that decides by time takes the time as an argument.

use std::cell::Cell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

thread_local! {
    static PRETENDED: Cell<Option<i64>> = const { Cell::new(None) };
}

/// Sets this thread's time for simulations, in Unix milliseconds. `None` restores the real clock.
#[doc(hidden)]
pub fn pretend(now: Option<i64>) {
    PRETENDED.set(now);
}

/// Returns the time in Unix milliseconds. 0 if the clock is before 1970.
#[must_use]
pub fn now_ms() -> i64 {
    if let Some(pretended) = PRETENDED.get() {
        return pretended;
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the time from `now_ms` until `at_ms` (both Unix milliseconds). Zero if `at_ms` has passed.
#[must_use]
pub fn until(at_ms: i64, now_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(at_ms.saturating_sub(now_ms)).unwrap_or(0))
}

/// Formats a time (Unix milliseconds) for people.
#[must_use]
pub fn shown(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms)
        .map(|at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
        .unwrap_or_else(|_| "an unknown time".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_passed_is_due_at_once() {
        assert_eq!(until(1_500, 1_000), Duration::from_millis(500));
        assert_eq!(until(500, 1_000), Duration::ZERO);
        assert_eq!(until(i64::MIN, i64::MAX), Duration::ZERO);
    }
}
