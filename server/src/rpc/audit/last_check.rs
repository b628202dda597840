//! The newest check that found the audit log whole, for those who need no new one: a check reads every row.

use std::sync::{Arc, Mutex, PoisonError};

use orion_domain::audit::AuditHead;

/// A log that was checked and is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WholeLog {
    /// When it was checked, Unix milliseconds.
    pub(super) checked_at: i64,
    pub(super) rows: i64,
    pub(super) head: AuditHead,
    pub(super) checkpoints: u64,
}

/// The newest check of this process. Clones share it.
#[derive(Debug, Clone, Default)]
pub(in crate::rpc) struct LastCheck(Arc<Mutex<Option<WholeLog>>>);

impl LastCheck {
    /// Returns the newest check if it is at most so old. One from the future is none: the clock was set back.
    pub(super) fn of_at_most(&self, max_age_ms: u64, now: i64) -> Option<WholeLog> {
        let check = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let check = (*check)?;
        let age = u64::try_from(now.checked_sub(check.checked_at)?).ok()?;
        (max_age_ms > 0 && age <= max_age_ms).then_some(check)
    }

    /// Keeps what the newest check found: None where the log is not whole, so that no older check answers.
    pub(super) fn keep(&self, check: Option<WholeLog>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = check;
    }
}

#[cfg(test)]
mod tests {
    use orion_domain::Digest;

    use super::*;

    #[test]
    fn a_check_answers_those_who_accept_its_age() {
        let last = LastCheck::default();
        assert_eq!(last.of_at_most(u64::MAX, 5), None);
        let head = AuditHead { seq: 7, hash: Digest::of(b"row") };
        let check = WholeLog { checked_at: 1_000, rows: 7, head, checkpoints: 1 };
        last.keep(Some(check));
        for (max_age_ms, now, is_taken) in
            [(500, 1_500, true), (499, 1_500, false), (0, 1_000, false), (500, 999, false)]
        {
            let taken = last.of_at_most(max_age_ms, now);
            assert_eq!(taken, is_taken.then_some(check), "{max_age_ms} {now}");
        }
        last.keep(None);
        assert_eq!(last.of_at_most(500, 1_500), None);
    }
}
