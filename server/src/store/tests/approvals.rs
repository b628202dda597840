//! Questions: one answer, one use, in time.

use super::*;
use crate::store::{ApprovalRow, ApprovalState, DecideError, StoreError};

async fn asked(n: u128) -> Place {
    let place = Place::new().await;
    place.store.open_call(NewCall { has_effects: true, ..call(n) }).await.unwrap();
    place.store.ask(question(n)).await.unwrap();
    place
}

#[tokio::test]
async fn asking_moves_the_call_and_is_read_back_whole() {
    let place = asked(1).await;
    let row = place.store.call(&call_id(1).to_string()).await.unwrap();
    assert_eq!((row.state, row.approval), (CallState::AwaitingApproval, Some(approval_id(1))));
    let asked = question(1);
    let expected = ApprovalRow {
        id: asked.id,
        call: asked.call,
        state: ApprovalState::Open,
        binding: asked.binding,
        tool: asked.tool,
        device: asked.device,
        arguments: asked.arguments,
        risk: asked.risk,
        touches: asked.touches,
        rule: asked.rule,
        requester: asked.requester,
        approver_role: asked.approver_role,
        preview: None,
        created_at: 1_500,
        expires_at: 5_000,
        decided_by: None,
        decided_at: None,
        reason: None,
        consumed_at: None,
    };
    assert_eq!(place.store.approval(&approval_id(1).to_string()).await, Ok(expected.clone()));
    assert_eq!(place.store.approval("0197").await, Ok(expected.clone()));
    assert_eq!(place.store.approvals(true).await, Ok(vec![expected]));
    assert_eq!(place.store.approval("0196").await, Err(StoreError::NotFound));
}

#[tokio::test]
async fn asking_twice_changes_nothing() {
    let place = asked(1).await;
    let again = NewApproval { id: approval_id(2), ..question(1) };
    assert_eq!(place.store.ask(again).await, Err(StoreError::Conflict));
    // The call's move and the question stand or fall together.
    place.store.open_call(call(3)).await.unwrap();
    let taken = NewApproval { id: approval_id(1), call: call_id(3), ..question(3) };
    assert_eq!(place.store.ask(taken).await, Err(StoreError::Conflict));
    let row = place.store.call(&call_id(3).to_string()).await.unwrap();
    assert_eq!((row.state, row.history.len()), (CallState::Received, 1));
    assert_eq!(place.kinds().await, ["call.opened", "approval.asked", "call.opened"]);
}

#[tokio::test]
async fn a_question_is_decided_once() {
    let place = asked(1).await;
    let decide = |yes, at| place.store.decide_approval(approval_id(1), yes, &ADMIN, "because", at);
    let decided = decide(true, 2_000).await.unwrap();
    assert_eq!(
        (decided.state, decided.decided_by.clone(), decided.decided_at, decided.reason.as_deref()),
        (ApprovalState::Approved, Some(user("admin")), Some(2_000), Some("because"))
    );
    let already = Err(DecideError::AlreadyDecided(ApprovalState::Approved));
    assert_eq!(decide(false, 2_001).await, already);
    assert_eq!(decide(true, 6_000).await, already);
    assert_eq!(place.store.approvals(true).await, Ok(Vec::new()));
    assert_eq!(place.store.approvals(false).await, Ok(vec![decided]));
    assert_eq!(
        place.audit().await.pop().unwrap(),
        (
            "approval.decided".to_owned(),
            json!({"approval_id": approval_id(1), "state": "approved", "by": "admin", "reason": "because"})
        )
    );
    let nobody = place.store.decide_approval(approval_id(9), true, &ADMIN, "", 2_000).await;
    assert_eq!(nobody, Err(DecideError::NotFound));
}

#[tokio::test]
async fn of_many_answers_at_once_one_counts() {
    let place = asked(1).await;
    let mut answers = Vec::new();
    for n in 0..50 {
        let store = place.store.clone();
        answers.push(tokio::spawn(async move {
            store.decide_approval(approval_id(1), n % 2 == 0, &ADMIN, "", 2_000).await.is_ok()
        }));
    }
    let mut counted = 0;
    for answer in answers {
        counted += u32::from(answer.await.unwrap());
    }
    assert_eq!(counted, 1);
    assert_eq!(place.audited().await, 3);
}

#[tokio::test]
async fn a_yes_is_used_once() {
    let place = asked(1).await;
    assert_eq!(place.store.consume_approval(approval_id(1), 1_900).await, Ok(false));
    place.store.decide_approval(approval_id(1), true, &ADMIN, "", 2_000).await.unwrap();
    let waiting = place.store.approved_and_unused().await.unwrap();
    assert_eq!(waiting.iter().map(|row| row.id).collect::<Vec<_>>(), [approval_id(1)]);
    let mut uses = Vec::new();
    for _ in 0..20 {
        let store = place.store.clone();
        uses.push(tokio::spawn(async move { store.consume_approval(approval_id(1), 2_100).await }));
    }
    let mut used = 0;
    for one in uses {
        used += u32::from(one.await.unwrap().unwrap());
    }
    assert_eq!(used, 1);
    assert_eq!(place.store.approved_and_unused().await, Ok(Vec::new()));
    assert_eq!(place.kinds().await.pop().unwrap(), "approval.used");
}

#[tokio::test]
async fn a_no_cannot_be_used() {
    let place = asked(1).await;
    place.store.decide_approval(approval_id(1), false, &ADMIN, "no", 2_000).await.unwrap();
    assert_eq!(place.store.consume_approval(approval_id(1), 2_100).await, Ok(false));
}

#[tokio::test]
async fn an_answer_that_comes_too_late_does_not_count() {
    let place = asked(1).await;
    let late = |at| place.store.decide_approval(approval_id(1), true, &ADMIN, "", at);
    assert_eq!(late(5_000).await, Err(DecideError::Expired));
    assert_eq!(place.store.expire_approvals(4_999).await, Ok(Vec::new()));
    let ended = place.store.expire_approvals(5_000).await.unwrap();
    assert_eq!(
        ended.iter().map(|row| (row.id, row.state)).collect::<Vec<_>>(),
        [(approval_id(1), ApprovalState::Expired)]
    );
    assert_eq!(place.store.expire_approvals(5_000).await, Ok(Vec::new()));
    assert_eq!(late(2_000).await, Err(DecideError::Expired));
    assert_eq!(place.kinds().await, ["call.opened", "approval.asked", "approval.expired"]);
}

#[tokio::test]
async fn a_withdrawn_question_takes_no_answer() {
    let place = asked(1).await;
    let withdrawn = place.store.withdraw_approval(call_id(1), 2_000).await.unwrap().unwrap();
    assert_eq!(withdrawn.state, ApprovalState::Withdrawn);
    assert_eq!(place.store.withdraw_approval(call_id(1), 2_000).await, Ok(None));
    let late = place.store.decide_approval(approval_id(1), true, &ADMIN, "", 2_100).await;
    assert_eq!(late, Err(DecideError::AlreadyDecided(ApprovalState::Withdrawn)));
}

static ADMIN: std::sync::LazyLock<UserName> = std::sync::LazyLock::new(|| user("admin"));
