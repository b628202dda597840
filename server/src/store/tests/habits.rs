//! The budget of approvals, and what a vote says of how it came about.

use super::approvals::{asked, vote};
use super::*;
use crate::store::{CommittedWith, DecideError, NewCall, NewVote, VoteHabit};

#[tokio::test]
async fn the_budget_counts_approvals_of_one_person_in_the_period_and_no_denials() {
    let place = asked(1).await;
    for n in 2..=4 {
        place.store.open_call(NewCall { has_effects: true, ..call(n) }).await.unwrap();
        place.store.ask(question(n), CommittedWith::default()).await.unwrap();
    }
    let budget = Some(orion_domain::rule::Rate { calls: 1, per_seconds: 1 });
    let habit = VoteHabit { details_shown: Some(true), budget };
    let on = |n: u128, by: &str, yes, at| NewVote {
        approval: approval_id(n),
        habit,
        ..vote(by, yes, at)
    };
    place.store.vote(on(1, "admin", false, 1_500)).await.unwrap();
    let first = place.store.vote(on(2, "admin", true, 1_600)).await.unwrap();
    assert_eq!(first.votes[0].details_shown, Some(true));
    let over = place.store.vote(on(3, "admin", true, 1_700)).await.unwrap_err();
    assert!(matches!(over, DecideError::OverBudget(_)), "{over}");
    assert!(over.to_string().contains("once in one second"), "{over}");
    place.store.vote(on(3, "bob", true, 1_800)).await.unwrap();
    place.store.vote(on(4, "admin", true, 2_601)).await.unwrap();
}
