//! Standing approvals: which calls and policies they apply to, and that their givers' roles still count.

use orion_domain::Rule;
use orion_domain::rule::RuleAction;

use super::approvals::{PEOPLE, asked_of, vote};
use super::*;
use crate::store::{
    ApprovalScope, ApprovalState, DecideError, MAX_RULES_ON_DEVICE, NewVote, StandingKey,
    StandingRule, StoreError,
};

/// A standing rule made from request `n`.
fn made(n: u128) -> StandingRule {
    StandingRule {
        id: approval_id(n),
        device: (device_id(1), "kiosk".parse().unwrap()),
        rule: Rule { tools: vec!["x".to_owned()], ..Rule::new("r", RuleAction::Preapprove) },
        made_by: user("bob"),
        created_at: 2_000,
        expires_at: 9_000,
    }
}

fn as_rule(n: u128) -> NewVote {
    let lasting = ApprovalScope::AsRule(Box::new(made(n)));
    NewVote { approval: approval_id(n), lasting, ..vote("bob", true, 2_000) }
}

#[tokio::test]
async fn an_answer_for_a_chat_holds_for_that_person_chat_device_and_tool_in_time() {
    let place = Place::new().await;
    tamper(&place, "INSERT INTO users (name, role, created_at) VALUES ('bob', 'operator', 0)")
        .await;
    place.store.open_call(call(1)).await.unwrap();
    let asked =
        NewApproval { conversation: Some(conversation_id(1)), may_stand: true, ..question(1) };
    place.store.ask(asked, CommittedWith::default()).await.unwrap();
    let yes = NewVote { lasting: ApprovalScope::ForChat(9_000), ..vote("bob", true, 2_000) };
    place.store.vote(yes).await.unwrap();
    let find_under = async |policy_version, rule, who: &str, chat, device, tool: &str, role, at| {
        let (chat, device) = (conversation_id(chat), device_id(device));
        let requester = &user(who);
        let like =
            StandingKey { requester, conversation: chat, device, tool, policy_version, rule };
        let found = place.store.standing_answer(&like, role, at).await;
        found.unwrap().map(|standing| (standing.id, standing.by))
    };
    let find = async |who: &str, chat, device, tool: &str, role, at| {
        find_under("v1", "risk: high", who, chat, device, tool, role, at).await
    };
    let (tool, operator) = ("delete_directory", Role::Operator);
    let held = Some((approval_id(1), user("bob")));
    assert_eq!(find("ann", 1, 1, tool, operator, 8_999).await, held);
    assert_eq!(find("ann", 1, 1, tool, operator, 9_000).await, None);
    assert_eq!(find("bob", 1, 1, tool, operator, 3_000).await, None);
    assert_eq!(find("ann", 2, 1, tool, operator, 3_000).await, None);
    assert_eq!(find("ann", 1, 2, tool, operator, 3_000).await, None);
    assert_eq!(find("ann", 1, 1, "delete_file", operator, 3_000).await, None);
    assert_eq!(find("ann", 1, 1, tool, Role::Admin, 3_000).await, None);
    // Another policy version or another rule asks again.
    assert_eq!(find_under("v2", "risk: high", "ann", 1, 1, tool, operator, 3_000).await, None);
    assert_eq!(
        find_under("v1", "prod (policy.yaml:4)", "ann", 1, 1, tool, operator, 3_000).await,
        None
    );
    tamper(&place, "UPDATE users SET disabled_at = 1").await;
    assert_eq!(find("ann", 1, 1, tool, operator, 3_000).await, None);
}

#[tokio::test]
async fn a_rule_of_an_answer_holds_until_it_ends_or_is_taken_back() {
    let place = asked_of(Approvers::default(), PEOPLE).await;
    let rule = StandingRule {
        id: approval_id(1),
        device: (device_id(1), "kiosk".parse().unwrap()),
        rule: Rule { tools: vec!["x".to_owned()], ..Rule::new("r", RuleAction::Preapprove) },
        made_by: user("bob"),
        created_at: 2_000,
        expires_at: 9_000,
    };
    let lasting = ApprovalScope::AsRule(Box::new(rule.clone()));
    place.store.vote(NewVote { lasting, ..vote("bob", true, 2_000) }).await.unwrap();
    assert_eq!(place.store.standing_rules(8_999).await, Ok(vec![rule.clone()]));
    assert_eq!(place.store.standing_rules(9_000).await, Ok(Vec::new()));
    assert_eq!(
        place.store.standing_rules_of(device_id(1), 3_000).await,
        Ok(vec![rule.rule.clone()])
    );
    assert_eq!(place.store.standing_rules_of(device_id(2), 3_000).await, Ok(Vec::new()));
    let id = approval_id(1).to_string();
    assert_eq!(place.store.revoke_standing_rule(&id, &user("ann"), 3_000).await, Ok(rule));
    assert_eq!(place.store.standing_rules(3_000).await, Ok(Vec::new()));
    let again = place.store.revoke_standing_rule(&id, &user("ann"), 3_000).await;
    assert_eq!(again, Err(StoreError::NotFound));
}

#[tokio::test]
async fn a_rule_of_an_answer_holds_while_who_made_it_may_make_it() {
    let place = asked_of(Approvers::default(), PEOPLE).await;
    place.store.vote(as_rule(1)).await.unwrap();
    let held = async || {
        let rules = place.store.standing_rules_of(device_id(1), 3_000).await.unwrap();
        let of_all = place.store.standing_rules_by_device(3_000).await.unwrap();
        assert_eq!(of_all.get(&device_id(1)).cloned().unwrap_or_default(), rules);
        assert!(of_all.keys().all(|device| *device == device_id(1)), "{of_all:?}");
        rules.len()
    };
    for (change, expected) in [
        ("UPDATE users SET role = 'viewer' WHERE name = 'bob'", 0),
        ("UPDATE users SET role = 'admin' WHERE name = 'bob'", 1),
        ("UPDATE users SET disabled_at = 1 WHERE name = 'bob'", 0),
        ("UPDATE users SET disabled_at = NULL WHERE name = 'bob'", 1),
        ("UPDATE users SET disabled_at = 1 WHERE name = 'ann'", 1),
    ] {
        tamper(&place, change).await;
        assert_eq!(held().await, expected, "{change}");
    }
    let devices =
        async |who: &str, now| place.store.devices_with_rules_of(&user(who), now).await.unwrap();
    assert_eq!(devices("bob", 3_000).await, [device_id(1)]);
    assert_eq!((devices("bob", 9_000).await, devices("ann", 3_000).await), (vec![], vec![]));
}

#[tokio::test]
async fn so_many_rules_of_answers_hold_on_a_device_and_no_more() {
    let place = asked_of(Approvers::default(), PEOPLE).await;
    let mut raw = place.raw().await;
    for n in 0..MAX_RULES_ON_DEVICE {
        sqlx::query(
            "INSERT INTO standing_rules (id, device_id, device_name, rule_json, made_by, \
             created_at, expires_at) VALUES ($1, $2, 'kiosk', '{}', 'bob', 0, 2001)",
        )
        .bind(format!("rule-{n}"))
        .bind(device_id(1).to_string())
        .execute(&mut raw)
        .await
        .unwrap();
    }
    raw.close().await.unwrap();
    assert_eq!(place.store.vote(as_rule(1)).await, Err(DecideError::TooManyRules));
    // The request is still open, and the device has room after a rule expires.
    let later = NewVote { at: 2_001, ..as_rule(1) };
    assert_eq!(place.store.vote(later).await.unwrap().state, ApprovalState::Approved);
}
