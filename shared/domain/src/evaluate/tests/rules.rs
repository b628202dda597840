//! Rules, risk defaults, strict grants and untrusted content: what each may decide, and may never.

use super::*;
use crate::grants::Profile;
use crate::rule::{Approvers, Hours, Quantity, Rate};

/// Grants everything, so that only the tested part decides.
pub(super) fn granted() -> Policy {
    policy(&json!({"profile": "operator", "paths": ["D:/"], "apps": ["chrome"]}))
}

pub(super) fn with(rules: Vec<Rule>) -> Policy {
    let rules = rules.into_iter().map(|rule| rule.compile(&windows()).0).collect();
    Policy { rules, ..granted() }
}

fn rule(action: RuleAction) -> Rule {
    Rule::new("r1", action)
}

pub(super) fn preapproval() -> Rule {
    Rule { tools: vec!["delete_directory".to_owned()], ..rule(RuleAction::Preapprove) }
}

fn counted(earlier: &'static [u32], entries: Option<u64>) -> Option<Counted<'static>> {
    let quantity = entries.map(|entries| Quantity { entries: Some(entries), bytes: Some(0) });
    Some(Counted { earlier, quantity })
}

#[rstest]
#[case(RuleAction::Deny, Decision::Deny)]
#[case(RuleAction::Ask, Decision::Ask)]
#[case(RuleAction::DryRunFirst, Decision::DryRunFirst)]
#[case(RuleAction::Preapprove, Decision::Allow)]
fn a_rule_does_what_it_says(#[case] action: RuleAction, #[case] decision: Decision) {
    let rules = vec![Rule { tools: vec!["create_directory".to_owned()], ..rule(action) }];
    assert_eq!(Ask::make("D:/x").of(&with(rules)).0, decision);
}

#[rstest]
#[case(&["create_directory"], true)]
#[case(&["delete_directory", "create_directory"], true)]
#[case(&["delete_directory"], false)]
#[case(&[], true)]
fn a_rule_is_about_its_tools(#[case] tools: &[&str], #[case] speaks: bool) {
    let tools = tools.iter().map(|&tool| tool.to_owned()).collect();
    let policy = with(vec![Rule { tools, ..rule(RuleAction::Deny) }]);
    assert_eq!(Ask::make("D:/x").of(&policy).0 == Decision::Deny, speaks);
}

#[test]
fn a_rule_is_about_its_people_and_its_roles() {
    let people = Rule { users: vec!["ann".parse().unwrap()], ..rule(RuleAction::Deny) };
    let operators = Rule { roles: vec![Role::Operator], ..rule(RuleAction::Deny) };
    for (rule, user, role, decision) in [
        (&people, "ann", Role::Admin, Decision::Deny),
        (&people, "bob", Role::Admin, Decision::Allow),
        (&operators, "ann", Role::Operator, Decision::Deny),
        (&operators, "ann", Role::Admin, Decision::Allow),
    ] {
        let ask = Ask { user, role, ..Ask::make("D:/x") };
        assert_eq!(ask.of(&with(vec![rule.clone()])).0, decision, "{user} {role}");
    }
}

#[rstest]
#[case::inside("D:/Secret/x", Decision::Deny)]
#[case::itself("D:/secret", Decision::Deny)]
#[case::around_it("D:/", Decision::Deny)]
#[case::beside_it("D:/Secrets", Decision::Allow)]
fn a_rule_that_tightens_speaks_when_any_path_fits(#[case] path: &str, #[case] decision: Decision) {
    let rules = vec![Rule { paths: vec!["D:/Secret".to_owned()], ..rule(RuleAction::Deny) }];
    let mut ask = Ask::make("D:/other");
    ask.touches.paths.extend(Ask::make(path).touches.paths);
    assert_eq!(ask.of(&with(rules)).0, decision);
}

#[rstest]
#[case::all_inside(&["D:/Tmp/a", "D:/Tmp/b"], Decision::Allow)]
#[case::one_outside(&["D:/Tmp/a", "D:/x"], Decision::Ask)]
#[case::around_it(&["D:/x/.."], Decision::Deny)]
#[case::no_path_at_all(&[], Decision::Ask)]
fn a_pre_approval_speaks_when_all_paths_fit(#[case] paths: &[&str], #[case] decision: Decision) {
    let rules = vec![Rule { paths: vec!["D:/Tmp".to_owned()], ..preapproval() }];
    let mut ask = Ask::delete("D:/x");
    ask.touches = Touches::nothing();
    for path in paths {
        ask.touches.paths.extend(Ask::delete(path).touches.paths);
    }
    assert_eq!(ask.of(&with(rules)).0, decision);
}

#[test]
fn a_rule_with_paths_is_silent_about_calls_that_touch_none() {
    let rules = vec![Rule { paths: vec!["**".to_owned()], ..rule(RuleAction::Deny) }];
    let ask = Ask { touches: Touches::nothing(), ..Ask::make("D:/x") };
    assert_eq!(ask.of(&with(rules)).0, Decision::Allow);
}

#[test]
fn a_rule_whose_path_cannot_be_read_is_held_strict() {
    let paths = vec!["D:relative".to_owned()];
    let deny = with(vec![Rule { paths: paths.clone(), ..rule(RuleAction::Deny) }]);
    assert_eq!(Ask::make("D:/x").of(&deny).0, Decision::Deny);
    let nothing = Ask { touches: Touches::nothing(), ..Ask::make("D:/x") };
    assert_eq!(nothing.of(&deny).0, Decision::Deny);
    let save = with(vec![Rule { paths, ..preapproval() }]);
    assert_eq!(Ask::delete("D:/x").of(&save).0, Decision::Ask);
}

#[test]
fn a_pre_approval_without_tools_matches_nothing() {
    let rules = with(vec![Rule { tools: Vec::new(), ..preapproval() }]);
    assert_eq!(Ask::delete("D:/x").of(&rules).0, Decision::Ask);
    assert_eq!(Ask::delete("D:/x").of(&with(vec![preapproval()])).0, Decision::Allow);
}

#[test]
fn a_pre_approval_names_itself_where_it_saved_a_question_and_widens_nothing() {
    let policy = with(vec![Rule { source: "policy.yaml:9".to_owned(), ..preapproval() }]);
    assert_eq!(Ask::delete("D:/x").of(&policy).2, Ok("rule r1 (policy.yaml:9)".to_owned()));
    assert_eq!(Ask::delete("C:/x").of(&policy).1, Some(ErrorCode::PathNotAllowed));
    let unconfirmed = Ask { confirmed: false, ..Ask::delete("D:/x") };
    assert_eq!(unconfirmed.of(&policy).1, Some(ErrorCode::ConfirmationRequired));
    let viewer = Ask { role: Role::Viewer, ..Ask::delete("D:/x") };
    assert_eq!(viewer.of(&policy).0, Decision::Deny);
    for action in [RuleAction::Deny, RuleAction::Ask, RuleAction::DryRunFirst] {
        let rules = with(vec![preapproval(), rule(action)]);
        assert_ne!(Ask::delete("D:/x").of(&rules).0, Decision::Allow, "{action:?}");
    }
    let needless = with(vec![Rule { tools: vec!["create_directory".to_owned()], ..preapproval() }]);
    assert_eq!(Ask::make("D:/x").of(&needless).2, Ok("role: allowed".to_owned()));
}

#[test]
fn a_rule_ends_when_it_expires() {
    let rules = with(vec![Rule { expires_at: Some(1000), ..rule(RuleAction::Deny) }]);
    for (unix_ms, decision) in [(0, Decision::Deny), (999, Decision::Deny), (1000, Decision::Allow)]
    {
        let ask = Ask { at: Moment { unix_ms, ..Moment::default() }, ..Ask::make("D:/x") };
        assert_eq!(ask.of(&rules).0, decision, "{unix_ms}");
    }
}

#[test]
fn a_rule_keeps_its_hours() {
    let hours = Some(Hours { from: 1320, to: 420, days: vec![4] });
    let rules = with(vec![Rule { hours, ..rule(RuleAction::Deny) }]);
    for (weekday, minute, decision) in [
        (4, 1319, Decision::Allow),
        (4, 1320, Decision::Deny),
        (5, 419, Decision::Deny),
        (5, 1320, Decision::Allow),
    ] {
        let ask = Ask { at: Moment { unix_ms: 0, weekday, minute }, ..Ask::make("D:/x") };
        assert_eq!(ask.of(&rules).0, decision, "{weekday} {minute}");
    }
}

#[rstest]
#[case::tightens_from_the_limit_on(rule(RuleAction::Deny), counted(&[2], None), Decision::Deny)]
#[case::not_before(rule(RuleAction::Deny), counted(&[1], None), Decision::Ask)]
#[case::missing_is_none(rule(RuleAction::Deny), counted(&[], None), Decision::Ask)]
#[case::saves_up_to_the_limit(preapproval(), counted(&[1], None), Decision::Allow)]
#[case::not_beyond(preapproval(), counted(&[2], None), Decision::Ask)]
#[case::a_device_leaves_it_to_the_backend(rule(RuleAction::Deny), None, Decision::Ask)]
#[case::both_ways(preapproval(), None, Decision::Allow)]
fn how_often_counts_both_ways(
    #[case] rule: Rule,
    #[case] counted: Option<Counted<'static>>,
    #[case] decision: Decision,
) {
    let rules = vec![Rule { limit: Some(Rate { calls: 2, per_seconds: 60 }), ..rule }];
    let ask = Ask { counted, ..Ask::delete("D:/x") };
    assert_eq!(ask.of(&with(rules)).0, decision);
}

#[rstest]
#[case::tightens_above(rule(RuleAction::Deny), counted(&[], Some(11)), Decision::Deny)]
#[case::not_up_to_it(rule(RuleAction::Deny), counted(&[], Some(10)), Decision::Ask)]
#[case::the_unknown_is_more(rule(RuleAction::Deny), counted(&[], None), Decision::Deny)]
#[case::saves_up_to_it(preapproval(), counted(&[], Some(10)), Decision::Allow)]
#[case::not_above(preapproval(), counted(&[], Some(11)), Decision::Ask)]
#[case::not_the_unknown(preapproval(), counted(&[], None), Decision::Ask)]
#[case::a_device_leaves_it_to_the_backend(rule(RuleAction::Deny), None, Decision::Ask)]
fn how_much_counts_both_ways(
    #[case] rule: Rule,
    #[case] counted: Option<Counted<'static>>,
    #[case] decision: Decision,
) {
    let above = Some(Quantity { entries: Some(10), bytes: None });
    let rules = with(vec![Rule { above, ..rule }]);
    assert_eq!(Ask { counted, ..Ask::delete("D:/x") }.of(&rules).0, decision);
}

#[test]
fn the_preview_that_tells_how_much_it_is_can_be_made() {
    let above = Some(Quantity { entries: Some(10), bytes: None });
    let rules = with(vec![Rule { above, ..rule(RuleAction::Deny) }]);
    let preview = |counted| Ask { dry_run: true, counted, ..Ask::delete("D:/x") };
    assert_eq!(preview(counted(&[], None)).of(&rules).0, Decision::Allow);
    assert_eq!(preview(counted(&[], Some(11))).of(&rules).0, Decision::Deny);
    let measures = |rules: &Policy, ask: Ask| {
        ask.asked(rules, |question, _| rules.rules[0].measures(question))
    };
    assert!(measures(&rules, preview(None)));
    assert!(!measures(&with(vec![rule(RuleAction::Deny)]), preview(None)));
}

#[test]
fn strict_grants_ask_for_every_change_and_show_it_first() {
    let strict = |paths: &str| policy(&json!({"profile": "strict", "paths": [paths]}));
    let make = Ask::make("D:/x");
    assert_eq!(make.of(&strict("D:/")).0, Decision::Ask);
    assert!(make.asked(&strict("D:/"), |_, evaluation| evaluation.preview_first()));
    assert!(make.asked(&strict("D:/"), |question, evaluation| {
        evaluation.rule_name(question, &strict("D:/")) == "grants: strict"
    }));
    assert_eq!(Ask { dry_run: true, ..Ask::make("D:/x") }.of(&strict("D:/")).0, Decision::Allow);
    let read = Ask::path("list_directory", Risk::Low, "D:/", Access::Read);
    assert_eq!(read.of(&strict("D:/")).0, Decision::Allow);
    let owner = Policy { ceiling: Some(strict("D:/").grants), ..granted() };
    assert_eq!(make.of(&owner).0, Decision::Ask);
    assert!(make.asked(&owner, |question, evaluation| {
        evaluation.rule_name(question, &owner) == "ceiling: strict"
    }));
    assert!(Profile::Strict.capabilities() == Profile::Operator.capabilities());
}

#[test]
fn a_pre_approval_also_spares_what_strict_grants_would_ask() {
    let tools = vec!["create_directory".to_owned()];
    let rules = with(vec![Rule { tools, ..preapproval() }]).rules;
    let strict = policy(&json!({"profile": "strict", "paths": ["D:/"]}));
    let strict = Policy { rules, ..strict };
    assert_eq!(Ask::make("D:/x").of(&strict).2, Ok("rule r1".to_owned()));
    let tainted = Ask { tainted: true, ..Ask::make("D:/x") };
    assert_eq!(tainted.of(&strict).0, Decision::Ask);
}

#[test]
fn a_pre_approval_spares_nothing_that_a_strict_owner_wants_to_be_asked() {
    let tools = vec!["create_directory".to_owned(), "delete_directory".to_owned()];
    let spared = with(vec![Rule { tools, ignore_provenance: true, ..preapproval() }]);
    let strict = policy(&json!({"profile": "strict", "paths": ["D:/"]})).grants;
    let owned = Policy { ceiling: Some(strict), ..spared };
    for ask in [Ask::make("D:/x"), Ask::delete("D:/x")] {
        assert_eq!(ask.of(&owned).0, Decision::Ask);
        assert!(ask.asked(&owned, |question, evaluation| {
            evaluation.rule_name(question, &owned) == "ceiling: strict"
        }));
    }
}

#[rstest]
#[case((Decision::Allow, Decision::Allow), [Decision::Allow, Decision::Allow, Decision::Ask])]
#[case((Decision::Allow, Decision::Ask), [Decision::Allow, Decision::Ask, Decision::Ask])]
#[case((Decision::Ask, Decision::Allow), [Decision::Ask, Decision::Ask, Decision::Ask])]
#[case((Decision::DryRunFirst, Decision::Allow), [Decision::DryRunFirst, Decision::DryRunFirst, Decision::Ask])]
#[case((Decision::Allow, Decision::Deny), [Decision::Allow, Decision::Deny, Decision::Deny])]
fn risk_defaults_only_tighten(
    #[case] (low, medium): (Decision, Decision),
    #[case] expected: [Decision; 3],
) {
    let policy = Policy { risk: RiskDefaults::new(low, medium), ..granted() };
    let found = [Risk::Low, Risk::Medium, Risk::High]
        .map(|risk| Ask { risk, confirmed: true, ..Ask::make("D:/x") }.of(&policy).0);
    assert_eq!(found, expected);
    let sent = serde_json::to_value(policy.risk).unwrap();
    assert_eq!(serde_json::from_value::<RiskDefaults>(sent).unwrap(), policy.risk);
    for loose in [json!({"high": "allow"}), json!({"critical": "dry_run_first"})] {
        assert!(serde_json::from_value::<RiskDefaults>(loose).is_err());
    }
}

#[test]
fn a_pre_approval_saves_a_question_and_no_refusal() {
    let save = || Rule { tools: vec!["create_directory".to_owned()], ..preapproval() };
    let of = |medium| {
        let policy =
            Policy { risk: RiskDefaults::new(Decision::Allow, medium), ..with(vec![save()]) };
        Ask { risk: Risk::Medium, ..Ask::make("D:/x") }.of(&policy)
    };
    assert_eq!(of(Decision::Ask).0, Decision::Allow);
    assert_eq!(of(Decision::DryRunFirst).0, Decision::Allow);
    assert_eq!(of(Decision::Deny).1, Some(ErrorCode::PermissionDenied));
}

#[test]
fn dangerous_mode_ends_by_itself_and_lifts_the_tool_list_alone() {
    let dangerous = |grants: serde_json::Value| Policy {
        mode: Mode::Dangerous { until: 1000 },
        ..policy(&grants)
    };
    let listed = || dangerous(json!({"tools": ["list_directory"], "paths": ["D:/"]}));
    let at = |unix_ms, ask: Ask| Ask { at: Moment { unix_ms, ..Moment::default() }, ..ask };
    assert_eq!(at(999, Ask::make("D:/x")).of(&listed()).0, Decision::Allow);
    assert_eq!(at(1000, Ask::make("D:/x")).of(&listed()).0, Decision::Deny);
    assert_eq!(at(1, Ask::delete("D:/x")).of(&listed()).0, Decision::Ask);
    assert_eq!(at(1, Ask::make("C:/x")).of(&listed()).1, Some(ErrorCode::PathNotAllowed));
    let viewer = Ask { role: Role::Viewer, ..Ask::make("D:/x") };
    assert_eq!(at(1, viewer).of(&listed()).0, Decision::Deny);
    let rules = Policy { rules: with(vec![rule(RuleAction::Ask)]).rules, ..listed() };
    assert_eq!(at(1, Ask::make("D:/x")).of(&rules).0, Decision::Ask);
    let strict = dangerous(json!({"profile": "strict", "paths": ["D:/"]}));
    assert_eq!(at(1, Ask::make("D:/x")).of(&strict).0, Decision::Ask);
    let closed = dangerous(json!({"profile": "operator", "paths": ["D:/"], "read_only": true}));
    assert_eq!(at(1, Ask::make("D:/x")).of(&closed).1, Some(ErrorCode::WriteDisabled));
    let owner = Policy {
        ceiling: Some(policy(&json!({"profile": "reader", "paths": ["D:/"]})).grants),
        ..listed()
    };
    assert_eq!(at(1, Ask::make("D:/x")).of(&owner).0, Decision::Deny);
    let later = Policy { risk: RiskDefaults::new(Decision::Ask, Decision::Ask), ..listed() };
    assert_eq!(at(1, Ask::make("D:/x")).of(&later).0, Decision::Ask);
}

#[test]
fn a_risk_whose_approvals_are_signed_is_asked_about_in_spite_of_a_preapproval() {
    let allow = Rule { tools: vec!["delete_directory".to_owned()], ..rule(RuleAction::Preapprove) };
    let saved = with(vec![allow]);
    assert_eq!(Ask::delete("D:/x").of(&saved).0, Decision::Allow);
    for (high, critical, decision) in [(false, true, Decision::Allow), (true, false, Decision::Ask)]
    {
        let risk = RiskDefaults::default().signing(high, critical);
        let signed = Policy { risk, ..saved.clone() };
        Ask::delete("D:/x").asked(&signed, |_, evaluation| {
            assert_eq!(evaluation.decision(), decision);
            assert_eq!(evaluation.approvers().passkey, high);
        });
        let critical = Ask { risk: Risk::Critical, ..Ask::delete("D:/x") };
        critical.asked(&signed, |_, evaluation| assert!(evaluation.approvers().passkey));
        Ask::make("D:/x").asked(&signed, |_, evaluation| {
            assert!(!evaluation.approvers().passkey);
        });
    }
}

#[test]
fn who_says_yes_is_whoever_satisfies_every_rule_that_asks() {
    let asking = |approvers| Rule { approvers, ..rule(RuleAction::Ask) };
    let base = Approvers::default();
    let policy = with(vec![
        asking(Approvers { count: 2, ..base }),
        asking(Approvers { role: Role::Admin, reason: true, ..base }),
        asking(Approvers { not_requester: true, passkey: true, ..base }),
        Rule { tools: vec!["open_app".to_owned()], ..asking(Approvers { count: 9, ..base }) },
        Rule { dry_run_first: true, ..asking(base) },
    ]);
    Ask::make("D:/x").asked(&policy, |_, evaluation| {
        let expected = Approvers {
            role: Role::Admin,
            count: 2,
            not_requester: true,
            second_if_any: false,
            reason: true,
            passkey: true,
        };
        assert_eq!(evaluation.approvers(), expected);
        assert!(evaluation.preview_first());
    });
    Ask::delete("D:/x").asked(&granted(), |_, evaluation| {
        assert_eq!(evaluation.approvers(), base);
        assert!(!evaluation.preview_first());
    });
}
