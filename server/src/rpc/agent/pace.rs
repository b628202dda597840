//! Limits how much a device may send on its link. What is beyond it waits in the device's own connection, where it delays
//! nobody else.

use std::time::{Duration, Instant};

/// How much a device may send in a second, in bytes. Files go by streams of their own, which the backend asks for.
const BYTES_PER_SECOND: u32 = 16 << 20;
/// What it may send before it has to wait, as the time in which it would be allowed.
const BURST: Duration = Duration::from_secs(2);

/// How much a device has sent.
#[derive(Debug)]
pub(super) struct Pace {
    /// When everything that was sent is allowed.
    allowed_at: Instant,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self { allowed_at: now }
    }

    /// Counts a message.
    pub(super) fn count(&mut self, bytes: usize, now: Instant) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.allowed_at =
            self.allowed_at.max(now) + Duration::from_secs(1) * bytes / BYTES_PER_SECOND;
    }

    /// Returns when the next message may be read. None where that is now.
    pub(super) fn waits_until(&self, now: Instant) -> Option<Instant> {
        self.allowed_at.checked_sub(BURST).filter(|at| *at > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_burst_is_read_at_once_and_the_rest_at_its_pace() {
        let begin = Instant::now();
        let mut pace = Pace::new(begin);
        for _ in 0..32 {
            assert_eq!(pace.waits_until(begin), None);
            pace.count(1 << 20, begin);
        }
        assert_eq!(pace.waits_until(begin), None);
        pace.count(4 << 20, begin);
        assert_eq!(pace.waits_until(begin), Some(begin + SECOND / 4));
        assert_eq!(pace.waits_until(begin + SECOND / 4), None);
        // Silence earns a burst, and no more.
        let later = begin + SECOND * 1000;
        pace.count(36 << 20, later);
        assert_eq!(pace.waits_until(later), Some(later + SECOND / 4));
    }
}
