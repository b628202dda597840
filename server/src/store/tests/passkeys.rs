//! Votes that are signed with a passkey, and what ends a passkey.

use super::approvals::{PEOPLE, asked_of, person, vote};
use super::plans::{plan, plan_id, word};
use super::*;
use crate::store::{
    ApprovalState, DecidePlanError, MAX_PASSKEYS, NewPasskeyError, NewPlanVote, NewVote, PlanState,
    StoreError,
};
use crate::webauthn::{NewPasskey, PasskeyProof, PublicKey, approval_subject, plan_subject};

const SIGNED: Approvers = Approvers {
    role: Role::Operator,
    count: 1,
    not_requester: false,
    second_if_any: false,
    reason: false,
    passkey: true,
};

fn passkey(id: &str) -> NewPasskey {
    let key = PublicKey::stored(-8, vec![7; 32]).unwrap();
    NewPasskey { id: id.to_owned(), key, relying_party: "localhost".to_owned(), sign_count: 1 }
}

/// Request 1, to be signed, at a backend where these people have a passkey of their name.
async fn asked(approvers: Approvers, holders: &[&str]) -> Place {
    let place = asked_of(approvers, PEOPLE).await;
    for holder in holders {
        place.store.add_passkey(&user(holder), "key", passkey(holder), 1_600).await.unwrap();
    }
    place
}

/// A signature of what request 1 shows, by a person's own passkey.
async fn signed(place: &Place, by: &str, sign_count: u32) -> NewVote {
    let row = place.store.approval(approval_id(1)).await.unwrap();
    let subject = approval_subject(row.id, row.shown_digest());
    let proof = PasskeyProof::of(by.to_owned(), subject, sign_count);
    NewVote { passkey: Some(proof), ..vote(by, true, 2_000) }
}

#[tokio::test]
async fn an_approval_that_must_be_signed_counts_with_a_passkey_of_that_person_alone() {
    let place = asked(SIGNED, &["ann", "bob"]).await;
    let decide = async |vote| place.store.vote(vote).await.map(|row| row.state);
    assert_eq!(decide(vote("bob", true, 2_000)).await, Err(DecideError::PasskeyMissing));
    let of_ann = NewVote { by: user("bob"), ..signed(&place, "ann", 2).await };
    assert_eq!(decide(of_ann).await, Err(DecideError::PasskeyGone));
    let unknown = signed(&place, "carl", 2).await;
    assert_eq!(decide(unknown).await, Err(DecideError::PasskeyGone));
    let again = signed(&place, "bob", 1).await;
    assert_eq!(decide(again).await, Err(DecideError::PasskeyGone));
    let other = approval_subject(approval_id(2), Digest::ZERO);
    let other = PasskeyProof::of("bob".to_owned(), other, 2);
    let other = NewVote { passkey: Some(other), ..vote("bob", true, 2_000) };
    assert_eq!(decide(other).await, Err(DecideError::OtherSigned));
    let low = NewVote { by: user("eve"), ..signed(&place, "bob", 2).await };
    assert_eq!(decide(low).await, Err(role_needed(Role::Operator)));
    let good = signed(&place, "bob", 2).await;
    let decided = place.store.vote(good).await.unwrap();
    assert_eq!(decided.state, ApprovalState::Approved);
    assert_eq!(decided.votes[0].passkey.as_deref(), Some("bob"));
    let row = place.store.passkey(&user("bob"), "bob").await.unwrap().unwrap();
    assert_eq!((row.sign_count, row.last_used_at), (2, Some(2_000)));
    let (kind, body) = place.audit().await.pop().unwrap();
    assert_eq!((kind.as_str(), &body["passkey"]), ("approval.decided", &json!("bob")));
}

#[tokio::test]
async fn a_denial_needs_no_passkey_and_one_that_is_given_is_checked_where_none_is_needed() {
    let place = asked(SIGNED, &[]).await;
    let denied = place.store.vote(vote("bob", false, 2_000)).await.unwrap();
    assert_eq!(denied.state, ApprovalState::Denied);
    let place = asked(Approvers { passkey: false, ..SIGNED }, &["bob"]).await;
    let wrong = signed(&place, "bob", 1).await;
    assert_eq!(place.store.vote(wrong).await, Err(DecideError::PasskeyGone));
    let right = signed(&place, "bob", 2).await;
    assert_eq!(place.store.vote(right).await.unwrap().state, ApprovalState::Approved);
}

#[tokio::test]
async fn what_the_card_shows_cannot_change_between_the_signature_and_the_vote() {
    for change in [
        "UPDATE approvals SET arguments = CAST('{\"path\": 1}' AS BLOB)",
        "UPDATE approvals SET preview = CAST('{}' AS BLOB)",
        "UPDATE approvals SET touches_json = '[\"delete /\"]'",
        "UPDATE approvals SET tool = 'read_file'",
        "UPDATE approvals SET device_name = 'other'",
        "UPDATE approvals SET risk = 'low'",
        "UPDATE approvals SET rule = 'another'",
        "UPDATE approvals SET requester = 'carl'",
        "UPDATE approvals SET card_json = '{\"can_undo\": true}'",
        "UPDATE approvals SET approver_count = 3",
        "UPDATE approvals SET expires_at = 9000",
        "UPDATE approvals SET binding = zeroblob(32)",
    ] {
        let place = asked(SIGNED, &["bob"]).await;
        let vote = signed(&place, "bob", 2).await;
        tamper(&place, change).await;
        assert_eq!(place.store.vote(vote).await, Err(DecideError::OtherSigned), "{change}");
    }
}

#[tokio::test]
async fn a_signed_vote_no_longer_counts_once_its_passkey_is_removed() {
    let place = asked(Approvers { count: 2, ..SIGNED }, &["ann", "bob", "carl"]).await;
    let first = signed(&place, "ann", 2).await;
    assert_eq!(place.store.vote(first).await.unwrap().state, ApprovalState::Open);
    let (ann, admin) = (user("ann"), user("admin"));
    place.store.remove_passkey(&ann, "ann", &admin, 2_001).await.unwrap();
    let gone = place.store.remove_passkey(&ann, "ann", &admin, 2_001).await;
    assert_eq!(gone, Err(StoreError::NotFound));
    let second = signed(&place, "bob", 2).await;
    assert_eq!(place.store.vote(second).await.unwrap().state, ApprovalState::Open);
    let third = signed(&place, "carl", 2).await;
    assert_eq!(place.store.vote(third).await.unwrap().state, ApprovalState::Approved);
    let bodies = place.audit().await;
    let removed = bodies.iter().find(|(kind, _)| kind == "passkey.removed").unwrap();
    let expected = json!({
        "user": "ann", "passkey": "ann", "name": "key", "algorithm": "Ed25519", "by": "admin",
    });
    assert_eq!(removed.1, expected);
}

#[tokio::test]
async fn a_plan_with_such_a_step_is_signed_as_a_whole() {
    let place = Place::new().await;
    for (name, role) in PEOPLE {
        person(&place, name, role).await;
    }
    let mut new = plan(1, 1);
    for step in &mut new.steps {
        if let Some(asked) = &mut step.asked {
            asked.1.approvers = SIGNED;
        }
    }
    place.store.make_plan(new).await.unwrap();
    place.store.add_passkey(&user("bob"), "key", passkey("bob"), 1_600).await.unwrap();
    let step = |error| Err(DecidePlanError::Step { number: 1, error });
    let missing = place.store.decide_plan(word("bob", true, 2_000)).await;
    assert_eq!(missing, step(DecideError::PasskeyMissing));
    let signs = |subject| NewPlanVote {
        passkey: Some(PasskeyProof::of("bob".to_owned(), subject, 2)),
        ..word("bob", true, 2_000)
    };
    // The card of one step is not the plan, and neither is another plan.
    let row = place.store.approval(approval_id(1)).await.unwrap();
    for other in [
        approval_subject(row.id, row.shown_digest()),
        plan_subject(plan_id(2), Digest::of(b"plan")),
        plan_subject(plan_id(1), Digest::of(b"other")),
    ] {
        let refused = place.store.decide_plan(signs(other)).await;
        assert_eq!(refused, step(DecideError::OtherSigned));
    }
    let whole = signs(plan_subject(plan_id(1), Digest::of(b"plan")));
    assert_eq!(place.store.decide_plan(whole).await, Ok(PlanState::Running));
}

#[tokio::test]
async fn who_is_disabled_or_deleted_loses_the_passkeys_and_enabling_brings_none_back() {
    let place = asked(SIGNED, &["ann", "bob"]).await;
    let admin = user("admin");
    person(&place, "admin", "admin").await;
    assert_eq!(place.store.roles_with_passkeys().await, Ok(vec![Role::Operator; 2]));
    place.store.disable_user(&user("ann"), &admin, 3_000).await.unwrap();
    place.store.enable_user(&user("ann"), &admin, 3_001).await.unwrap();
    place.store.delete_user(&user("bob"), &admin, 3_002).await.unwrap();
    for name in ["ann", "bob"] {
        assert_eq!(place.store.passkeys(&user(name)).await, Ok(Vec::new()), "{name}");
    }
    assert_eq!(place.store.roles_with_passkeys().await, Ok(Vec::new()));
    let late = place.store.add_passkey(&user("bob"), "key", passkey("new"), 3_003).await;
    assert_eq!(late, Err(NewPasskeyError::NoUser));
}

#[tokio::test]
async fn a_person_has_few_passkeys_and_they_survive_a_restart() {
    let place = asked(SIGNED, &[]).await;
    for n in 0..MAX_PASSKEYS {
        place.store.add_passkey(&user("ann"), "key", passkey(&n.to_string()), n).await.unwrap();
    }
    let more = place.store.add_passkey(&user("ann"), "key", passkey("more"), 99).await;
    assert_eq!(more, Err(NewPasskeyError::TooMany));
    let taken = place.store.add_passkey(&user("bob"), "key", passkey("3"), 99).await;
    assert_eq!(taken, Err(NewPasskeyError::Taken));
    let place = place.reopened().await;
    let kept = place.store.passkeys(&user("ann")).await.unwrap();
    assert_eq!(kept.len(), 10);
    assert_eq!(kept[3].key, passkey("3").key);
}
