//! How people approve: how often, how fast, and whether they looked at the details; and the budget that the
//! policy sets.

use orion_domain::rule::Rate;
use orion_domain::{PlanId, UserName};

use crate::store::columns::parsed;
use crate::store::db::{DecodeError, FromRow, Row, Tx, sql, values};
use crate::store::{Store, StoreError};

/// The most votes that are read for statistics: the newest.
const MAX_VOTES: i64 = 100_000;

/// How a person came to a vote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VoteHabit {
    /// Whether the person's client showed the whole card. `None` where it does not say.
    pub details_shown: Option<bool>,
    /// How often one person may approve, by the policy. `None` for no limit.
    pub budget: Option<Rate>,
}

/// One vote, for statistics. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoteRecord {
    /// The voter.
    pub user: UserName,
    /// Whether the person approved.
    pub yes: bool,
    /// Whether the whole card was shown. `None` where that is not known.
    pub details_shown: Option<bool>,
    /// When it was given. The votes on the steps of a plan have the same time.
    pub at: i64,
    /// When the request was made.
    pub asked_at: i64,
    /// The plan that was voted on as a whole. `None` for a single request.
    pub plan: Option<PlanId>,
}

impl FromRow for VoteRecord {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        let plan: Option<&str> = row.get("plan_id")?;
        let plan = plan.map(|_| parsed(row, "plan_id")).transpose()?;
        Ok(Self {
            user: parsed(row, "user_name")?,
            yes: row.get("yes")?,
            details_shown: row.get("details_shown")?,
            at: row.get("at")?,
            asked_at: row.get("created_at")?,
            plan,
        })
    }
}

/// Returns whether a person has given as many approvals as the budget allows until `now`. A plan counts once,
/// and the plan that is voted on does not count.
pub(super) async fn is_spent(
    tx: &mut Tx,
    by: &UserName,
    budget: Rate,
    plan: Option<PlanId>,
    now: i64,
) -> Result<bool, StoreError> {
    let since = now.saturating_sub(i64::from(budget.per_seconds) * 1000);
    let (given,): (i64,) = tx
        .query_one(
            sql("SELECT COUNT(DISTINCT COALESCE(approvals.plan_id, approvals.id)) FROM votes \
                 JOIN approvals ON approvals.id = votes.approval_id \
                 WHERE votes.user_name = $1 AND votes.at > $2 AND votes.yes \
                 AND (approvals.plan_id IS NULL OR approvals.plan_id <> $3)")
            .with(values![by, since, plan.map(|plan| plan.to_string()).unwrap_or_default()]),
        )
        .await?;
    Ok(given >= i64::from(budget.calls))
}

impl Store {
    /// Returns the newest votes since a moment, at most 100,000.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn votes_since(&self, since: i64) -> Result<Vec<VoteRecord>, StoreError> {
        self.db()
            .query(
                sql("SELECT votes.user_name, votes.yes, votes.details_shown, votes.at, \
                     approvals.created_at, approvals.plan_id FROM votes \
                     JOIN approvals ON approvals.id = votes.approval_id \
                     WHERE votes.at >= $1 ORDER BY votes.at DESC LIMIT $2")
                .bind(since)
                .bind(MAX_VOTES),
            )
            .await
    }
}
