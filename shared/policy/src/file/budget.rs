//! The approval budget: how often one person may approve in a period.

use orion_domain::rule::Rate;

use crate::finding::{Code, Findings, shown};
use crate::read::{self, Fields};
use crate::time;
use crate::yaml::Node;

/// Reads the budget. A mistake is reported, and keeps the file from loading.
pub(super) fn read(node: &Node, findings: &mut Findings) -> Option<Rate> {
    let mut fields = Fields::of(node, "`approval_budget`", findings)?;
    let written = fields.take(&["approvals"], findings);
    let approvals =
        written.and_then(|node| read::number(node, "`approvals`", 1..=100_000, findings));
    let period = fields.take(&["per"], findings);
    let per = period.and_then(|node| read::text(node, "`per`", findings));
    fields.finish(findings);
    let per_seconds = per.as_ref().and_then(|per| time::span(per.value));
    if let (Some(per), None) = (&per, per_seconds) {
        let message = format!("`{}` is not a span of time.", shown(per.value));
        findings.error(per.at, Code::BadValue, message, "Write 10m, 1h or 1d; at most 31d.");
    }
    if written.is_none() || period.is_none() {
        let hint = "Write { approvals: 30, per: 1h }.";
        findings.error(node.at, Code::Missing, "A budget has approvals and a span of time.", hint);
    }
    Some(Rate { calls: u32::try_from(approvals?).ok()?, per_seconds: per_seconds? })
}
