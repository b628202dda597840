//! Formats the habits of approvers.

use orion_wire::v1;
use serde::Serialize;

use super::length;
use crate::output::table;
use crate::text;

/// The habits of all approvers, for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ApprovalStatsView {
    pub(crate) since: i64,
    pub(crate) budget_approvals: u32,
    pub(crate) budget_seconds: u32,
    pub(crate) approvers: Vec<ApproverView>,
}

/// The habits of one approver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ApproverView {
    pub(crate) user: String,
    pub(crate) approved: u64,
    pub(crate) denied: u64,
    pub(crate) median_ms: u64,
    pub(crate) fast: u64,
    pub(crate) without_details: u64,
    pub(crate) in_budget: u64,
}

impl From<v1::GetApprovalStatsResponse> for ApprovalStatsView {
    fn from(answer: v1::GetApprovalStatsResponse) -> Self {
        let v1::GetApprovalStatsResponse { approvers, budget_approvals, budget_seconds, since } =
            answer;
        let approver = |it: v1::ApproverStats| {
            let v1::ApproverStats {
                user,
                approved,
                denied,
                median_ms,
                fast,
                without_details,
                in_budget,
            } = it;
            ApproverView { user, approved, denied, median_ms, fast, without_details, in_budget }
        };
        let approvers = approvers.into_iter().map(approver).collect();
        Self { since, budget_approvals, budget_seconds, approvers }
    }
}

/// Formats the habits, with the budget where the policy has one.
pub(crate) fn approval_stats(stats: &ApprovalStatsView) -> String {
    let has_budget = stats.budget_approvals > 0;
    let row = |it: &ApproverView| {
        let budget = if has_budget {
            format!("{} of {}", it.in_budget, stats.budget_approvals)
        } else {
            "-".to_owned()
        };
        let seconds = it.median_ms / 1000;
        let median = if it.approved == 0 { "-".to_owned() } else { format!("{seconds} s") };
        vec![
            text::one_line(&it.user, 40),
            it.approved.to_string(),
            it.denied.to_string(),
            median,
            it.fast.to_string(),
            it.without_details.to_string(),
            budget,
        ]
    };
    let header = ["APPROVER", "APPROVED", "DENIED", "MEDIAN", "UNDER 5 S", "NO DETAILS", "BUDGET"];
    let rows = table(&header, stats.approvers.iter().map(row));
    if !has_budget || rows.is_empty() {
        return rows;
    }
    let period = length(stats.budget_seconds.into());
    format!("{rows}\n\nbudget: {} approvals of one person in {period}", stats.budget_approvals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits_stand_in_a_table_with_the_budget_below() {
        let approver = ApproverView {
            user: "ann".to_owned(),
            approved: 12,
            denied: 1,
            median_ms: 8_400,
            fast: 3,
            without_details: 5,
            in_budget: 4,
        };
        let stats = ApprovalStatsView {
            since: 0,
            budget_approvals: 30,
            budget_seconds: 3600,
            approvers: vec![approver],
        };
        insta::assert_snapshot!(approval_stats(&stats), @"
        APPROVER  APPROVED  DENIED  MEDIAN  UNDER 5 S  NO DETAILS  BUDGET
        ann       12        1       8 s     3          5           4 of 30

        budget: 30 approvals of one person in 1 hour
        ");
    }
}
