//! `GetApprovalStats`: the habits of approvers.

use orion_wire::v1;
use tonic::Status;

use super::ApprovalApi;
use crate::clock::now_ms;
use crate::pipeline::confirm::{ApproverHabits, habits};
use crate::rpc::status;

/// How far back statistics go if the request does not say, in milliseconds.
const DEFAULT_MS: i64 = 30 * 24 * 3600 * 1000;

/// Returns how often each person approved and denied since a moment, how fast, and how often without the
/// details; with the budget of the policy.
pub(super) async fn get_approval_stats(
    api: &ApprovalApi,
    message: v1::GetApprovalStatsRequest,
) -> Result<v1::GetApprovalStatsResponse, Status> {
    let v1::GetApprovalStatsRequest { since } = message;
    let since = if since == 0 { now_ms() - DEFAULT_MS } else { since };
    let (habits, budget) = habits(&api.pipeline, since).await.map_err(status::store)?;
    let approver = |(user, habits): (orion_domain::UserName, ApproverHabits)| {
        let ApproverHabits { approved, denied, median_ms, fast, without_details, in_budget } =
            habits;
        v1::ApproverStats {
            user: user.to_string(),
            approved,
            denied,
            median_ms,
            fast,
            without_details,
            in_budget,
        }
    };
    Ok(v1::GetApprovalStatsResponse {
        approvers: habits.into_iter().map(approver).collect(),
        budget_approvals: budget.map(|rate| rate.calls).unwrap_or_default(),
        budget_seconds: budget.map(|rate| rate.per_seconds).unwrap_or_default(),
        since,
    })
}
