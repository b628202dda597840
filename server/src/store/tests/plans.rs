//! Plans: stored as a whole, decided as a whole, started once, ended once.

use orion_domain::PlanId;

use super::approvals::{PEOPLE, person};
use super::*;
use crate::store::{
    ApprovalScope, ApprovalState, DecideError, DecidePlanError, MakePlanError, NewPlan,
    NewPlanVote, NewStep, NewVote, PlanState, StepEnd, StepState, StoreError,
};

pub(super) fn plan_id(n: u128) -> PlanId {
    PlanId::new(Uuid::from_u128(0x0195_0000_0000_7000_8000_0000_0000_0000 + n))
}

/// A plan of two steps, the calls `first` and the next; only the first one needs approval.
pub(super) fn plan(n: u128, first: u128) -> NewPlan {
    let step = |call: u128, asked: bool| {
        let new = NewCall { plan: Some(plan_id(n)), ..super::call(call) };
        NewStep {
            call: call_id(call),
            device: (device_id(1), "kiosk".parse().unwrap()),
            tool: new.tool.clone(),
            arguments: new.arguments.clone(),
            risk: Risk::High,
            touches: new.touches.clone(),
            decision: "ask".to_owned(),
            rule: String::new(),
            policy_version: "v1".to_owned(),
            preview: None,
            observed: Vec::new(),
            earlier: None,
            after: None,
            asked: asked.then(|| {
                let question = NewApproval { plan: Some(plan_id(n)), ..question(call) };
                Box::new((new, question))
            }),
        }
    };
    NewPlan {
        id: plan_id(n),
        caller: Caller { user: user("ann"), role: Role::Operator, conversation: None },
        hash: Digest::of(b"plan"),
        keep_going: false,
        created_at: 1_500,
        expires_at: 5_000,
        steps: vec![step(first, true), step(first + 1, false)],
    }
}

pub(super) fn word(by: &str, yes: bool, at: i64) -> NewPlanVote {
    NewPlanVote {
        plan: plan_id(1),
        hash: Digest::of(b"plan"),
        by: Caller { user: user(by), role: Role::Operator, conversation: None },
        yes,
        reason: String::new(),
        at,
        habit: crate::store::VoteHabit::default(),
        passkey: None,
    }
}

async fn made() -> Place {
    let place = Place::new().await;
    for (name, role) in PEOPLE {
        person(&place, name, role).await;
    }
    place.store.make_plan(plan(1, 1)).await.unwrap();
    place
}

async fn state(place: &Place) -> (PlanState, Vec<StepState>, ApprovalState) {
    let row = place.store.plan(plan_id(1)).await.unwrap();
    let steps = row.steps.iter().map(|step| step.state).collect();
    (row.state, steps, row.questions[0].state)
}

#[tokio::test]
async fn a_question_of_a_plan_is_answered_expired_and_taken_up_with_it_alone() {
    let place = made().await;
    let store = &place.store;
    let alone = NewVote {
        approval: approval_id(1),
        by: user("bob"),
        role: Role::Admin,
        yes: true,
        reason: String::new(),
        lasting: ApprovalScope::Once,
        at: 2_000,
        habit: crate::store::VoteHabit::default(),
        passkey: None,
    };
    assert_eq!(store.vote(alone).await, Err(DecideError::PartOfPlan(plan_id(1))));
    assert_eq!(store.withdraw_approval(call_id(1), 2_000).await, Ok(None));
    assert_eq!(store.expire_approvals(9_000).await, Ok(Vec::new()));
    store.decide_plan(word("bob", true, 2_000)).await.unwrap();
    assert_eq!(store.approved_and_unused(None).await, Ok(Vec::new()));
    let waiting = [StepState::Waiting; 2].to_vec();
    assert_eq!(state(&place).await, (PlanState::Running, waiting, ApprovalState::Approved));
}

#[tokio::test]
async fn a_plan_is_made_whole_or_not_at_all() {
    let place = Place::new().await;
    let mut broken = plan(1, 1);
    broken.steps[1].call = call_id(1);
    let made = place.store.make_plan(broken).await;
    assert_eq!(made, Err(MakePlanError::Store(StoreError::Conflict)));
    assert_eq!(place.kinds().await, Vec::<String>::new());
    assert_eq!(place.store.call(call_id(1)).await, Err(StoreError::NotFound));
    for n in 0..5 {
        place.store.make_plan(plan(n, n * 2)).await.unwrap();
    }
    let sixth = place.store.make_plan(plan(6, 12)).await;
    assert_eq!(sixth, Err(MakePlanError::TooManyOfPerson));
}

#[tokio::test]
async fn only_the_hash_that_was_shown_counts_and_only_in_time() {
    let place = made().await;
    let store = &place.store;
    let other = NewPlanVote { hash: Digest::of(b"other"), ..word("bob", true, 2_000) };
    assert_eq!(store.decide_plan(other).await, Err(DecidePlanError::OtherHash));
    let none = NewPlanVote { plan: plan_id(9), ..word("bob", true, 2_000) };
    assert_eq!(store.decide_plan(none).await, Err(DecidePlanError::NotFound));
    let late = store.decide_plan(word("bob", true, 5_000)).await;
    assert_eq!(late, Err(DecidePlanError::Expired));
    assert_eq!(store.expire_plans(4_999).await, Ok(Vec::new()));
    assert_eq!(store.expire_plans(5_000).await, Ok(vec![plan_id(1)]));
    let skipped = [StepState::Skipped; 2].to_vec();
    assert_eq!(state(&place).await, (PlanState::Expired, skipped, ApprovalState::Expired));
    assert_eq!(store.calls_of_ended_plans("").await, Ok(vec![call_id(1).to_string()]));
    assert_eq!(store.calls_of_ended_plans(&call_id(1).to_string()).await, Ok(Vec::new()));
}

#[tokio::test]
async fn the_word_of_somebody_who_is_let_in_no_more_does_not_count() {
    let place = made().await;
    let raw = &mut place.raw().await;
    let smaller = "UPDATE users SET role = 'viewer' WHERE name = 'bob'";
    sqlx::query(smaller).execute(&mut *raw).await.unwrap();
    let gone = "UPDATE users SET disabled_at = 1 WHERE name = 'carl'";
    sqlx::query(gone).execute(&mut *raw).await.unwrap();
    let yes = async |by: &str| place.store.decide_plan(word(by, true, 2_000)).await;
    let error = role_needed(Role::Operator);
    let small = DecidePlanError::Step { number: 1, error };
    assert_eq!(yes("bob").await, Err(small));
    assert_eq!(yes("carl").await, Err(DecidePlanError::NotRequester));
    assert_eq!(state(&place).await.0, PlanState::Open);
}

#[tokio::test]
async fn a_yes_counts_only_while_whoever_gave_it_is_let_in() {
    let place = Place::new().await;
    for (name, role) in PEOPLE {
        person(&place, name, role).await;
    }
    // The first step needs two people, the second one.
    let mut both = plan(1, 1);
    let asked = |call: u128, count| {
        let new = NewCall { plan: Some(plan_id(1)), ..super::call(call) };
        let approvers = Approvers { count, ..Approvers::default() };
        Some(Box::new((new, NewApproval { plan: Some(plan_id(1)), approvers, ..question(call) })))
    };
    (both.steps[0].asked, both.steps[1].asked) = (asked(1, 2), asked(2, 1));
    place.store.make_plan(both).await.unwrap();
    let yes = async |by: &str| place.store.decide_plan(word(by, true, 2_000)).await.unwrap();
    assert_eq!(yes("carl").await, PlanState::Open);
    let gone = "UPDATE users SET disabled_at = 1 WHERE name = 'carl'";
    sqlx::query(gone).execute(&mut place.raw().await).await.unwrap();
    assert_eq!(yes("ann").await, PlanState::Open);
    let row = place.store.plan(plan_id(1)).await.unwrap();
    let settled = |n: usize| (row.questions[n].state, row.questions[n].decided_by.clone());
    assert_eq!(settled(0), (ApprovalState::Open, None));
    assert_eq!(settled(1), (ApprovalState::Approved, Some(user("ann"))), "it was asked again");
    assert_eq!(yes("bob").await, PlanState::Running);
}

#[tokio::test]
async fn a_step_is_begun_once_and_none_after_a_stop_or_an_end() {
    let place = made().await;
    let store = &place.store;
    assert_eq!(store.begin_step(plan_id(1), 1, 2_000).await, Ok(false), "nobody said yes");
    store.decide_plan(word("bob", true, 2_000)).await.unwrap();
    assert_eq!(store.begin_step(plan_id(1), 1, 2_001).await, Ok(true));
    assert_eq!(store.begin_step(plan_id(1), 1, 2_002).await, Ok(false));
    let end = StepEnd { state: StepState::Succeeded, code: None, message: "Done.".to_owned() };
    store.end_step(plan_id(1), 1, end, 2_003).await.unwrap();
    let other = store.decide_plan(word("bob", false, 2_004)).await;
    assert_eq!(other, Err(DecidePlanError::NotRequester));
    store.decide_plan(word("ann", false, 2_005)).await.unwrap();
    assert_eq!(store.begin_step(plan_id(1), 2, 2_006).await, Ok(false));
    store.end_plan(plan_id(1), PlanState::Cancelled, 2_007).await.unwrap();
    let (plan, steps, question) = state(&place).await;
    assert_eq!(plan, PlanState::Cancelled);
    assert_eq!(steps, [StepState::Succeeded, StepState::Skipped]);
    assert_eq!(question, ApprovalState::Withdrawn, "the yes was not spent");
    let late = store.decide_plan(word("bob", true, 2_008)).await;
    assert_eq!(late, Err(DecidePlanError::NotOpen(PlanState::Cancelled)));
}
