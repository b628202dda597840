//! What was last seen of one device's own chain, and which reports may replace it.

use std::time::Instant;

use orion_domain::audit::AuditHead;

use crate::clock::now_ms;

/// What was last seen of one device's chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessedChain {
    /// The chain's head.
    pub head: AuditHead,
    /// What is wrong with the chain; empty where nothing is.
    pub problem: String,
    /// When the problem was noticed, in Unix milliseconds. None where there is none.
    pub problem_at: Option<i64>,
    /// When the head was reported, and on which connection. None where that was before the last start, and so
    /// before every connection.
    pub(super) last_report: Option<ReportedChain>,
    pub(super) is_new: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReportedChain {
    pub(super) at: Instant,
    pub(super) since: Instant,
}

impl WitnessedChain {
    pub(super) const NOTHING: Self = Self {
        head: AuditHead::EMPTY,
        problem: String::new(),
        problem_at: None,
        last_report: None,
        is_new: true,
    };

    pub(super) fn blame(&mut self, problem: &str) {
        problem.clone_into(&mut self.problem);
        self.problem_at = Some(now_ms());
        self.is_new = true;
    }

    /// Returns whether a report on a connection that began at `since` cannot be older than the stored head.
    pub(super) fn is_before(&self, since: Instant) -> bool {
        self.last_report
            .is_none_or(|last_report| last_report.since == since || last_report.at < since)
    }
}
