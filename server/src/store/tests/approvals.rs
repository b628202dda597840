//! Approval requests: one decision, one use, in time.

use super::*;
use crate::store::{
    ApprovalRow, ApprovalScope, ApprovalState, AskError, DecideError, MAX_OPEN, MAX_OPEN_OF_PERSON,
    NewVote, StoreError, VoteHabit,
};

pub(super) fn vote(by: &str, yes: bool, at: i64) -> NewVote {
    NewVote {
        approval: approval_id(1),
        by: user(by),
        role: Role::Admin,
        yes,
        reason: String::new(),
        lasting: ApprovalScope::Once,
        at,
        habit: VoteHabit::default(),
        passkey: None,
    }
}

pub(super) async fn asked(n: u128) -> Place {
    let place = Place::new().await;
    person(&place, "admin", "admin").await;
    person(&place, "bob", "operator").await;
    place.store.open_call(NewCall { has_effects: true, ..call(n) }).await.unwrap();
    place.store.ask(question(n), CommittedWith::default()).await.unwrap();
    place
}

#[tokio::test]
async fn asking_moves_the_call_and_is_read_back_whole() {
    let place = asked(1).await;
    let row = place.store.call(call_id(1)).await.unwrap();
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
        conversation: None,
        approvers: asked.approvers,
        may_stand: false,
        preview: None,
        observed: Vec::new(),
        card: asked.card,
        standing: None,
        written_by: None,
        plan: None,
        votes: Vec::new(),
        created_at: 1_500,
        expires_at: 5_000,
        decided_by: None,
        decided_at: None,
        reason: None,
        consumed_at: None,
    };
    assert_eq!(place.store.approval(approval_id(1)).await, Ok(expected.clone()));
    assert_eq!(place.store.find_approval("0197").await, Ok(expected.clone()));
    assert_eq!(place.store.approval_ids(true).await, Ok(vec![expected.id]));
    assert_eq!(place.store.find_approval("0196").await, Err(StoreError::NotFound));
}

#[tokio::test]
async fn asking_twice_changes_nothing() {
    let place = asked(1).await;
    let again = NewApproval { id: approval_id(2), ..question(1) };
    assert_eq!(
        place.store.ask(again, CommittedWith::default()).await,
        Err(AskError::Store(StoreError::Conflict))
    );
    place.store.open_call(call(3)).await.unwrap();
    let taken = NewApproval { id: approval_id(1), call: call_id(3), ..question(3) };
    assert_eq!(
        place.store.ask(taken, CommittedWith::default()).await,
        Err(AskError::Store(StoreError::Conflict))
    );
    let row = place.store.call(call_id(3)).await.unwrap();
    assert_eq!((row.state, row.history.len()), (CallState::Received, 1));
    assert_eq!(place.kinds().await, ["call.opened", "approval.asked", "call.opened"]);
}

#[tokio::test]
async fn a_question_is_decided_once() {
    let place = asked(1).await;
    let decide = |yes, at| {
        place.store.vote(NewVote { reason: "because".to_owned(), ..vote("admin", yes, at) })
    };
    let decided = decide(true, 2_000).await.unwrap();
    assert_eq!(
        (decided.state, decided.decided_by.clone(), decided.decided_at, decided.reason.as_deref()),
        (ApprovalState::Approved, Some(user("admin")), Some(2_000), Some("because"))
    );
    let already = Err(DecideError::AlreadyDecided(ApprovalState::Approved));
    assert_eq!(decide(false, 2_001).await, already);
    assert_eq!(decide(true, 6_000).await, already);
    assert_eq!(place.store.approval_ids(true).await, Ok(Vec::new()));
    assert_eq!(place.store.approval_ids(false).await, Ok(vec![decided.id]));
    assert_eq!(
        place.audit().await.pop().unwrap(),
        (
            "approval.decided".to_owned(),
            json!({"approval_id": approval_id(1), "state": "approved", "by": "admin", "reason": "because"})
        )
    );
    let nobody =
        place.store.vote(NewVote { approval: approval_id(9), ..vote("admin", true, 2_000) }).await;
    assert_eq!(nobody, Err(DecideError::NotFound));
}

#[tokio::test]
async fn of_many_answers_at_once_one_counts() {
    let place = asked(1).await;
    let mut answers = Vec::new();
    for n in 0..50 {
        let store = place.store.clone();
        answers.push(tokio::spawn(async move {
            store.vote(vote("admin", n % 2 == 0, 2_000)).await.is_ok()
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
    assert_eq!(place.store.dispatch_approved(approval_id(1), 1_900).await, Ok(false));
    place.store.vote(vote("admin", true, 2_000)).await.unwrap();
    let waiting = place.store.approved_and_unused(None).await.unwrap();
    assert_eq!(waiting.iter().map(|row| row.id).collect::<Vec<_>>(), [approval_id(1)]);
    let mut uses = Vec::new();
    for _ in 0..20 {
        let store = place.store.clone();
        uses.push(tokio::spawn(
            async move { store.dispatch_approved(approval_id(1), 2_100).await },
        ));
    }
    let mut used = 0;
    for one in uses {
        used += u32::from(one.await.unwrap().unwrap());
    }
    assert_eq!(used, 1);
    assert_eq!(place.store.approved_and_unused(None).await, Ok(Vec::new()));
    assert_eq!(place.kinds().await.pop().unwrap(), "approval.used");
}

#[tokio::test]
async fn a_no_cannot_be_used() {
    let place = asked(1).await;
    place.store.vote(vote("admin", false, 2_000)).await.unwrap();
    assert_eq!(place.store.dispatch_approved(approval_id(1), 2_100).await, Ok(false));
}

#[tokio::test]
async fn an_answer_that_comes_too_late_does_not_count() {
    let place = asked(1).await;
    let late = |at| place.store.vote(vote("admin", true, at));
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
    let late = place.store.vote(vote("admin", true, 2_100)).await;
    assert_eq!(late, Err(DecideError::AlreadyDecided(ApprovalState::Withdrawn)));
}

pub(super) async fn person(place: &Place, name: &str, role: &str) {
    let mut raw = place.raw().await;
    sqlx::query("INSERT INTO users (name, role, created_at) VALUES ($1, $2, 0)")
        .bind(name)
        .bind(role)
        .execute(&mut raw)
        .await
        .unwrap();
    raw.close().await.unwrap();
}

/// Request 1 with these approvers, at a backend with these people.
pub(super) async fn asked_of(approvers: Approvers, people: &[(&str, &str)]) -> Place {
    let place = Place::new().await;
    for (name, role) in people {
        person(&place, name, role).await;
    }
    place.store.open_call(call(1)).await.unwrap();
    let asked = NewApproval { approvers, may_stand: true, ..question(1) };
    place.store.ask(asked, CommittedWith::default()).await.unwrap();
    place
}

pub(super) const PEOPLE: &[(&str, &str)] =
    &[("ann", "operator"), ("bob", "operator"), ("carl", "operator"), ("eve", "viewer")];

#[tokio::test]
async fn several_people_have_to_say_yes_each_once_and_the_last_settles_it() {
    let approvers = Approvers { count: 3, ..Approvers::default() };
    let place = asked_of(approvers, PEOPLE).await;
    let yes = |by: &str, at| {
        let vote = NewVote { role: Role::Operator, ..vote(by, true, at) };
        let store = place.store.clone();
        async move { store.vote(vote).await }
    };
    let one = yes("ann", 2_000).await.unwrap();
    assert_eq!((one.state, one.votes.len()), (ApprovalState::Open, 1));
    assert_eq!(yes("ann", 2_001).await, Err(DecideError::AlreadyVoted));
    let two = yes("bob", 2_002).await.unwrap();
    assert_eq!((two.state, two.votes.len()), (ApprovalState::Open, 2));
    // Votes survive a restart.
    let place = Place { store: place.store.clone(), dir: place.dir }.reopened().await;
    let third = NewVote { role: Role::Operator, ..vote("carl", true, 2_003) };
    let three = place.store.vote(third).await.unwrap();
    assert_eq!(three.state, ApprovalState::Approved);
    let names: Vec<_> = three.votes.iter().map(|vote| vote.user.to_string()).collect();
    assert_eq!(names, ["ann", "bob", "carl"]);
    let kinds = place.kinds().await;
    assert_eq!(
        kinds[1..],
        ["approval.asked", "approval.voted", "approval.voted", "approval.decided"]
    );
}

#[tokio::test]
async fn a_yes_of_somebody_who_lost_the_role_or_the_account_meanwhile_is_not_counted() {
    for lost in [
        "UPDATE users SET role = 'viewer' WHERE name = 'ann'",
        "UPDATE users SET disabled_at = 1 WHERE name = 'ann'",
    ] {
        let place = asked_of(Approvers { count: 2, ..Approvers::default() }, PEOPLE).await;
        place.store.vote(vote("ann", true, 2_000)).await.unwrap();
        tamper(&place, lost).await;
        let second = place.store.vote(vote("bob", true, 2_001)).await.unwrap();
        assert_eq!(second.state, ApprovalState::Open, "{lost}");
        let third = place.store.vote(vote("carl", true, 2_002)).await.unwrap();
        assert_eq!(third.state, ApprovalState::Approved, "{lost}");
    }
}

#[tokio::test]
async fn one_no_ends_it_whoever_said_yes_before() {
    let place = asked_of(Approvers { count: 2, ..Approvers::default() }, PEOPLE).await;
    place.store.vote(vote("bob", true, 2_000)).await.unwrap();
    let ended = place.store.vote(vote("bob", false, 2_001)).await.unwrap();
    assert_eq!((ended.state, ended.votes.len()), (ApprovalState::Denied, 1));
    let late = place.store.vote(vote("carl", true, 2_002)).await;
    assert_eq!(late, Err(DecideError::AlreadyDecided(ApprovalState::Denied)));
}

#[tokio::test]
async fn who_asked_who_is_too_small_and_who_gives_no_reason_does_not_count() {
    let approvers = Approvers {
        not_requester: true,
        reason: true,
        role: Role::Operator,
        ..Approvers::default()
    };
    let place = asked_of(approvers, PEOPLE).await;
    let why = |by: &str, role, reason: &str| {
        let vote = NewVote { role, reason: reason.to_owned(), ..vote(by, true, 2_000) };
        let store = place.store.clone();
        async move { store.vote(vote).await.map(|row| row.state) }
    };
    assert_eq!(why("ann", Role::Admin, "mine").await, Err(DecideError::OwnCall(Role::Operator)));
    assert_eq!(why("eve", Role::Viewer, "ok").await, Err(role_needed(Role::Operator)));
    assert_eq!(why("bob", Role::Operator, " ").await, Err(DecideError::ReasonMissing));
    assert_eq!(place.kinds().await, ["call.opened", "approval.asked"]);
    assert_eq!(why("bob", Role::Operator, "agreed").await, Ok(ApprovalState::Approved));
}

#[tokio::test]
async fn a_critical_call_needs_another_admin_unless_there_is_none() {
    let critical = Approvers { role: Role::Admin, second_if_any: true, ..Approvers::default() };
    let own = || vote("ann", true, 2_000);
    for (others, counts) in [
        (&[("ann", "admin"), ("bob", "operator")][..], true),
        (&[("ann", "admin"), ("bob", "admin")][..], false),
    ] {
        let place = asked_of(critical, others).await;
        assert_eq!(place.store.vote(own()).await.is_ok(), counts, "{others:?}");
    }
    let place = asked_of(critical, &[("ann", "admin"), ("bob", "admin")]).await;
    tamper(&place, "UPDATE users SET disabled_at = 1 WHERE name = 'bob'").await;
    assert_eq!(place.store.vote(own()).await.unwrap().state, ApprovalState::Approved);
}

#[tokio::test]
async fn a_person_and_all_together_have_so_many_open_questions() {
    let place = Place::new().await;
    person(&place, "admin", "admin").await;
    let ask = async |n: u128, who: &str| {
        place.store.open_call(call(n)).await.unwrap();
        place
            .store
            .ask(NewApproval { requester: user(who), ..question(n) }, CommittedWith::default())
            .await
    };
    for n in 0..20 {
        assert_eq!(ask(n, "ann").await, Ok(true));
    }
    assert_eq!((MAX_OPEN_OF_PERSON, MAX_OPEN), (20, 500));
    assert_eq!(ask(20, "ann").await, Err(AskError::TooManyOfPerson));
    for n in 21..501 {
        assert_eq!(ask(n, &format!("user-{}", n / 20)).await, Ok(true));
    }
    assert_eq!(ask(501, "zoe").await, Err(AskError::TooMany));
    place.store.vote(vote("admin", false, 2_000)).await.unwrap();
    assert_eq!(ask(502, "ann").await, Ok(true));
    assert_eq!(place.store.approval_ids(true).await.unwrap().len(), 500);
}

#[tokio::test]
async fn what_may_not_stand_is_answered_only_once() {
    let place = asked(1).await;
    let yes = NewVote { lasting: ApprovalScope::ForChat(9_000), ..vote("bob", true, 2_000) };
    assert!(matches!(place.store.vote(yes).await, Err(DecideError::OnlyOnce(_))));
    assert_eq!(
        place.store.vote(vote("bob", true, 2_000)).await.unwrap().state,
        ApprovalState::Approved
    );
}

#[tokio::test]
async fn a_voter_counts_with_the_role_and_account_that_they_have_by_then() {
    let admins = Approvers { role: Role::Admin, ..Approvers::default() };
    for lost in [
        "UPDATE users SET role = 'operator' WHERE name = 'bob'",
        "UPDATE users SET disabled_at = 1 WHERE name = 'bob'",
    ] {
        let place = asked_of(admins, &[("ann", "operator"), ("bob", "admin")]).await;
        tamper(&place, lost).await;
        let yes = place.store.vote(vote("bob", true, 2_000)).await;
        assert_eq!(yes, Err(role_needed(Role::Admin)), "{lost}");
    }
    let place = asked_of(Approvers::default(), &[("bob", "admin")]).await;
    tamper(&place, "UPDATE users SET disabled_at = 1").await;
    let no = place.store.vote(vote("bob", false, 2_000)).await;
    assert_eq!(no, Err(role_needed(Role::Operator)));
}

#[tokio::test]
async fn whoever_wrote_the_call_is_no_second_person_to_it() {
    let written = async |approvers, people| {
        let place = asked_of(approvers, people).await;
        tamper(&place, "UPDATE approvals SET written_by = 'bob'").await;
        place
    };
    let yes = async |place: &Place, by: &str| {
        place.store.vote(vote(by, true, 2_000)).await.map(|row| row.state)
    };
    let own = |role| Err(DecideError::OwnCall(role));
    let approved = Ok(ApprovalState::Approved);
    let strict = Approvers { not_requester: true, ..Approvers::default() };
    let place = written(strict, PEOPLE).await;
    assert_eq!(yes(&place, "ann").await, own(strict.role));
    assert_eq!(yes(&place, "bob").await, own(strict.role));
    assert_eq!(yes(&place, "carl").await, approved);
    // One of two admins wrote the call, so the other one has to approve it, even as its requester.
    let critical = Approvers { role: Role::Admin, second_if_any: true, ..Approvers::default() };
    let place = written(critical, &[("ann", "admin"), ("bob", "admin")]).await;
    assert_eq!(yes(&place, "bob").await, own(Role::Admin));
    assert_eq!(yes(&place, "ann").await, approved);
    let place = written(critical, &[("ann", "admin"), ("bob", "admin"), ("eve", "admin")]).await;
    assert_eq!(yes(&place, "ann").await, own(Role::Admin));
    assert_eq!(yes(&place, "eve").await, approved);
    let place = written(critical, &[("ann", "operator"), ("bob", "admin")]).await;
    assert_eq!(yes(&place, "bob").await, approved);
}

#[tokio::test]
async fn a_yes_is_not_used_after_its_time() {
    let place = asked(1).await;
    place.store.vote(vote("admin", true, 2_000)).await.unwrap();
    assert_eq!(place.store.dispatch_approved(approval_id(1), 5_000).await, Ok(false));
    assert_eq!(place.store.dispatch_approved(approval_id(1), 4_999).await, Ok(true));
}
