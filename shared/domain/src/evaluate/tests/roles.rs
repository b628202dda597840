//! Calls that ask for a role.

use super::*;

#[test]
fn a_call_may_ask_for_a_lower_role_than_its_persons_and_never_for_a_higher_one() {
    let policy = policy(&seed_grants());
    for (role, limit, decision, refused_by) in [
        (Role::Admin, Role::Operator, Decision::Allow, None),
        (Role::Operator, Role::Operator, Decision::Allow, None),
        (Role::Admin, Role::Viewer, Decision::Deny, Some("role viewer")),
        (Role::Operator, Role::Admin, Decision::Deny, Some("role operator")),
        (Role::Viewer, Role::Operator, Decision::Deny, Some("role viewer")),
    ] {
        let make = Ask::path("create_directory", Risk::Low, "D:/Projects/x", Access::Write);
        let ask = Ask { role, limit: Some(limit), ..make };
        assert_eq!(ask.of(&policy).0, decision, "{role} as {limit}");
        assert_eq!(ask.refused_by(&policy).as_deref(), refused_by, "{role} as {limit}");
    }
}

#[test]
fn a_rule_that_tightens_holds_for_either_role_and_a_pre_approval_for_both() {
    let limited = Ask { limit: Some(Role::Operator), ..Ask::delete("D:/Projects/x") };
    let decision = |action, role| {
        let tools = vec!["delete_directory".to_owned()];
        let rule = Rule { roles: vec![role], tools, ..Rule::new("it", action) };
        let rules = vec![rule.compile(&windows()).0];
        limited.of(&Policy { rules, ..policy(&seed_grants()) }).0
    };
    for role in [Role::Admin, Role::Operator] {
        assert_eq!(decision(RuleAction::Deny, role), Decision::Deny, "{role}");
        assert_eq!(decision(RuleAction::Preapprove, role), Decision::Ask, "{role}");
    }
    assert_eq!(decision(RuleAction::Deny, Role::Viewer), Decision::Ask);
}
