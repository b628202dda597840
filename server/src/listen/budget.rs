//! Limits the frames without content that a connection may send. HTTP/2 answers or records each one, so a
//! peer that sends nothing else would occupy a core.

use super::frames::{Frame, FrameKind};

/// How many control frames a connection may send at once.
const BURST: u64 = 400;
/// How many more control frames each second allows.
const PER_SECOND: u64 = 40;
/// How many more control frames each request of a signed-in person allows: window updates, pings, a reset.
const PER_REQUEST: u64 = 4;
/// How many message bytes, in either direction, allow one more control frame: windows are updated as bytes
/// pass.
const BYTES_EACH: u64 = 1024;

/// A token bucket, in thousandths of a frame.
#[derive(Debug)]
pub(super) struct FrameBudget {
    left: u64,
    at_ms: u64,
    /// Bytes that have not been counted towards a frame yet.
    bytes: u64,
}

impl FrameBudget {
    /// Creates a full bucket. Times are in milliseconds.
    #[must_use]
    pub(super) const fn new(now_ms: u64) -> Self {
        Self { left: BURST * 1000, at_ms: now_ms, bytes: 0 }
    }

    /// Counts a frame of the peer. `false` where the budget is exceeded.
    #[must_use]
    pub(super) fn received(&mut self, frame: Frame, is_signed_in: bool, now_ms: u64) -> bool {
        let passed = now_ms.saturating_sub(self.at_ms);
        self.at_ms = self.at_ms.max(now_ms);
        self.earn(passed.saturating_mul(PER_SECOND));
        match frame.kind {
            FrameKind::Data if frame.len > 0 || frame.ends_stream => {
                self.passed(frame.len);
                return true;
            }
            FrameKind::Headers => {
                if is_signed_in {
                    self.earn(PER_REQUEST * 1000);
                }
                return true;
            }
            FrameKind::Data | FrameKind::Reset | FrameKind::Control => {}
        }
        match self.left.checked_sub(1000) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    /// Counts message bytes, in either direction.
    pub(super) fn passed(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        let earned = self.bytes / BYTES_EACH;
        self.bytes %= BYTES_EACH;
        self.earn(earned.saturating_mul(1000));
    }

    fn earn(&mut self, thousandths: u64) {
        self.left = self.left.saturating_add(thousandths).min(BURST * 1000);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: FrameKind, len: usize) -> Frame {
        Frame { kind, len, ends_stream: false, stream: 1 }
    }

    /// Returns how many frames of this kind pass at one moment.
    fn passing(budget: &mut FrameBudget, kind: FrameKind, now_ms: u64) -> u64 {
        (0..10 * BURST).filter(|_| budget.received(frame(kind, 0), true, now_ms)).count() as u64
    }

    #[test]
    fn frames_that_carry_nothing_pass_until_the_budget_is_spent_and_again_with_time() {
        for kind in [FrameKind::Control, FrameKind::Reset, FrameKind::Data] {
            let mut budget = FrameBudget::new(5);
            assert_eq!(passing(&mut budget, kind, 5), BURST, "{kind:?}");
            assert_eq!(passing(&mut budget, kind, 1005), PER_SECOND, "{kind:?}");
            assert_eq!(passing(&mut budget, kind, 3_600_000), BURST, "{kind:?}");
        }
    }

    #[test]
    fn a_clock_that_goes_back_earns_nothing() {
        let mut budget = FrameBudget::new(1000);
        assert_eq!(passing(&mut budget, FrameKind::Control, 1000), BURST);
        assert_eq!(passing(&mut budget, FrameKind::Control, 0), 0);
        assert_eq!(passing(&mut budget, FrameKind::Control, 1000), 0);
    }

    #[test]
    fn bytes_earn_frames_and_so_do_requests_of_people_who_are_signed_in_alone() {
        let mut budget = FrameBudget::new(0);
        assert_eq!(passing(&mut budget, FrameKind::Control, 0), BURST);
        budget.passed(3 * 1024);
        assert!(budget.received(frame(FrameKind::Data, 1024), false, 0));
        assert_eq!(passing(&mut budget, FrameKind::Control, 0), 4);
        assert!(budget.received(frame(FrameKind::Headers, 10), false, 0));
        assert_eq!(passing(&mut budget, FrameKind::Control, 0), 0);
        assert!(budget.received(frame(FrameKind::Headers, 10), true, 0));
        assert_eq!(passing(&mut budget, FrameKind::Control, 0), PER_REQUEST);
    }

    proptest! {
        #[test]
        fn no_more_pass_than_the_burst_and_what_time_brings(
            steps in prop::collection::vec(0_u64..200, 1..3000),
        ) {
            let (mut budget, mut now, mut passed) = (FrameBudget::new(0), 0, 0);
            for step in steps {
                now += step;
                passed += u64::from(budget.received(frame(FrameKind::Control, 8), true, now));
            }
            prop_assert!(passed <= BURST + now * PER_SECOND / 1000 + 1);
        }
    }
}
