//! The habits of approvers: how often each person approves, how fast, and how often without the details.

use std::collections::{BTreeMap, HashSet};

use orion_domain::UserName;
use orion_domain::rule::Rate;

use crate::clock::now_ms;
use crate::median::median;
use crate::pipeline::Pipeline;
use crate::store::{StoreError, VoteRecord};

/// Approvals faster than this many milliseconds count as fast.
const FAST_MS: i64 = 5_000;

/// The habits of one person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApproverHabits {
    /// How often the person approved. A plan counts once.
    pub approved: u64,
    /// How often the person denied.
    pub denied: u64,
    /// The median time from the request to the approval, in milliseconds.
    pub median_ms: u64,
    /// How many approvals came within five seconds of their request.
    pub fast: u64,
    /// How many approvals were given without the details, or by a client that does not say.
    pub without_details: u64,
    /// How many of the approvals count towards the budget now.
    pub in_budget: u64,
}

/// The habits of every approver since a moment, and the budget of the policy.
///
/// # Errors
/// The database cannot be read.
pub async fn habits(
    pipeline: &Pipeline,
    since: i64,
) -> Result<(BTreeMap<UserName, ApproverHabits>, Option<Rate>), StoreError> {
    let budget = budget(pipeline);
    let votes = pipeline.store.votes_since(since).await?;
    Ok((habits_of(votes, budget, now_ms()), budget))
}

/// Returns how often one person may approve, by the active policy.
pub(in crate::pipeline) fn budget(pipeline: &Pipeline) -> Option<Rate> {
    pipeline.devices.policies.active().file.as_ref().and_then(|file| file.approval_budget())
}

fn habits_of(
    votes: Vec<VoteRecord>,
    budget: Option<Rate>,
    now: i64,
) -> BTreeMap<UserName, ApproverHabits> {
    let spent_since = budget.map(|rate| now.saturating_sub(i64::from(rate.per_seconds) * 1000));
    let mut plans = HashSet::new();
    let mut times: BTreeMap<UserName, Vec<u64>> = BTreeMap::new();
    let mut habits: BTreeMap<UserName, ApproverHabits> = BTreeMap::new();
    for vote in votes {
        // The steps of a plan are voted on at once.
        if vote.plan.is_some_and(|plan| !plans.insert((vote.user.clone(), plan))) {
            continue;
        }
        let of = habits.entry(vote.user.clone()).or_default();
        if !vote.yes {
            of.denied += 1;
            continue;
        }
        let took = (vote.at - vote.asked_at).max(0);
        of.approved += 1;
        of.fast += u64::from(took < FAST_MS);
        of.without_details += u64::from(vote.details_shown != Some(true));
        of.in_budget += u64::from(spent_since.is_some_and(|since| vote.at > since));
        times.entry(vote.user).or_default().push(took.unsigned_abs());
    }
    for (user, times) in times {
        if let Some(of) = habits.get_mut(&user) {
            of.median_ms = median(times);
        }
    }
    habits
}

#[cfg(test)]
mod tests {
    use super::*;
    use orion_domain::PlanId;

    #[test]
    fn habits_count_plans_once_and_say_how_fast_and_how_blindly_people_approve() {
        let vote = |user: &str, yes, details_shown, at, took: i64, plan: Option<u128>| VoteRecord {
            user: user.parse().unwrap(),
            yes,
            details_shown,
            at,
            asked_at: at - took,
            plan: plan.map(|plan| PlanId::new(uuid::Uuid::from_u128(plan))),
        };
        let votes = vec![
            vote("ann", true, Some(true), 100_000, 1_000, None),
            vote("ann", true, Some(false), 90_000, 2_000, None),
            vote("ann", true, None, 20_000, 60_000, None),
            vote("ann", true, Some(true), 95_000, 9_000, Some(1)),
            vote("ann", true, Some(true), 95_000, 9_000, Some(1)),
            vote("ann", false, Some(true), 95_000, 9_000, None),
            vote("bob", false, None, 95_000, 9_000, None),
        ];
        let budget = Some(Rate { calls: 5, per_seconds: 60 });
        let habits = habits_of(votes, budget, 100_000);
        let ann = &habits[&"ann".parse().unwrap()];
        assert_eq!(
            *ann,
            ApproverHabits {
                approved: 4,
                denied: 1,
                median_ms: 5_500,
                fast: 2,
                without_details: 2,
                in_budget: 3,
            }
        );
        let bob = ApproverHabits { denied: 1, ..ApproverHabits::default() };
        assert_eq!(habits[&"bob".parse().unwrap()], bob);
    }
}
