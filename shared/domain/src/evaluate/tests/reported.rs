//! Rules that only log or notify, conditions on arguments, and what each risk may require.

use super::*;
use crate::call::CanonicalArguments;
use crate::evaluate::Note;
use crate::rule::{ArgumentCondition, ArgumentTest};

fn granted(rules: Vec<Rule>) -> Policy {
    let rules = rules.into_iter().map(|rule| rule.compile(&windows()).0).collect();
    Policy { rules, ..policy(&json!({"profile": "operator", "paths": ["D:/"]})) }
}

fn about_making(action: RuleAction) -> Rule {
    Rule { tools: vec!["create_directory".to_owned()], ..Rule::new("r", action) }
}

fn judged(ask: &Ask, policy: &Policy) -> (Decision, Vec<Note>) {
    ask.asked(policy, |question, evaluation| {
        (evaluation.decision(), evaluation.notes(question, policy))
    })
}

#[test]
fn a_rule_that_only_logs_says_what_it_would_do_and_decides_nothing() {
    let make = Ask::make("D:/x");
    let (plain, _) = judged(&make, &granted(Vec::new()));
    for (action, would) in [
        (RuleAction::Deny, "deny"),
        (RuleAction::Ask, "ask"),
        (RuleAction::DryRunFirst, "show a preview first"),
    ] {
        let rule = Rule { log_only: true, ..about_making(action) };
        assert!(!rule.decides());
        let policy = granted(vec![rule]);
        let note = Note { rule: "r".to_owned(), would: Some(would) };
        assert_eq!(judged(&make, &policy), (plain, vec![note]));
        let approvers = make.asked(&policy, |_, evaluation| evaluation.approvers());
        assert_eq!(approvers, make.asked(&granted(Vec::new()), |_, it| it.approvers()));
        assert_eq!(judged(&Ask::delete("D:/x/y"), &policy).1, []);
    }
    // Beside a rule that counts, the stricter one that only logs changes nothing.
    let log = Rule { log_only: true, ..about_making(RuleAction::Deny) };
    let (decision, notes) = judged(&make, &granted(vec![log, about_making(RuleAction::Ask)]));
    assert_eq!((decision, notes.len()), (Decision::Ask, 1));
    // It never asks a device how much a call touches.
    let measured = Rule {
        log_only: true,
        above: Some(crate::rule::Quantity { entries: Some(1), bytes: None }),
        ..about_making(RuleAction::Deny)
    };
    let policy = granted(vec![measured]);
    assert!(!make.asked(&policy, |question, _| policy.rules[0].measures(question)));
}

#[test]
fn a_notice_is_of_what_runs_and_never_of_a_preview() {
    let policy = granted(vec![about_making(RuleAction::Notify)]);
    let make = Ask::make("D:/x");
    let note = Note { rule: "rule r".to_owned(), would: None };
    assert_eq!(judged(&make, &policy), (Decision::Allow, vec![note]));
    let preview = Ask { dry_run: true, ..Ask::make("D:/x") };
    assert_eq!(judged(&preview, &policy), (Decision::Allow, Vec::new()));
    let risk = RiskDefaults::default().notifying(false, true);
    let policy = Policy { risk, ..granted(Vec::new()) };
    let medium = Ask { risk: Risk::Medium, ..Ask::make("D:/x") };
    let note = Note { rule: "risk medium".to_owned(), would: None };
    assert_eq!(judged(&medium, &policy), (Decision::Allow, vec![note]));
    assert_eq!(judged(&make, &policy), (Decision::Allow, Vec::new()));
}

#[test]
fn each_risk_may_be_denied_and_high_risk_never_runs_unasked() {
    let denied = RiskDefaults::default().with_high(Decision::Deny, Decision::Deny);
    let policy = Policy { risk: denied, ..granted(Vec::new()) };
    assert_eq!(judged(&Ask::delete("D:/x/y"), &policy).0, Decision::Deny);
    assert_eq!(judged(&Ask::make("D:/x"), &policy).0, Decision::Allow);
    // A pre-approval replaces an approval, and no denial.
    let rule = Rule {
        tools: vec!["delete_directory".to_owned()],
        ..Rule::new("p", RuleAction::Preapprove)
    };
    let spared = Policy { risk: denied, ..granted(vec![rule]) };
    assert_eq!(judged(&Ask::delete("D:/x/y"), &spared).0, Decision::Deny);
    let loose = RiskDefaults::default().with_high(Decision::Allow, Decision::Allow);
    for risk in [Risk::High, Risk::Critical] {
        assert_eq!(loose.of(risk), Decision::Ask);
        assert_eq!(RiskDefaults::new(Decision::Deny, Decision::Allow).of(risk), Decision::Deny);
    }
    let critical = RiskDefaults::default().with_high(Decision::Ask, Decision::Deny);
    assert_eq!(
        (critical.of(Risk::High), critical.of(Risk::Critical)),
        (Decision::Ask, Decision::Deny)
    );
    let json = serde_json::to_string(&RiskDefaults::default()).unwrap();
    assert_eq!(json, r#"{"low":"allow","medium":"allow"}"#);
    let json = serde_json::to_string(&denied).unwrap();
    assert_eq!(serde_json::from_str::<RiskDefaults>(&json).unwrap(), denied);
}

#[test]
fn a_condition_on_an_argument_is_strict_where_the_argument_is_not_known() {
    let condition = |action| Rule {
        arguments: vec![ArgumentCondition {
            name: "parents".to_owned(),
            test: ArgumentTest::Is(vec![json!(true)]),
        }],
        ..about_making(action)
    };
    let with = |arguments: Option<&serde_json::Value>,
                policy: &Policy,
                change: &dyn Fn(Question<'_>) -> Question<'_>| {
        let arguments = arguments.map(CanonicalArguments::from_value);
        Ask::make("D:/x").asked(policy, |question, _| {
            let question = change(Question { arguments: arguments.as_ref(), ..*question });
            evaluate(&question, policy).decision()
        })
    };
    let same: &dyn Fn(Question<'_>) -> Question<'_> = &|it| it;
    let (yes, no) = (json!({"path": "D:/x", "parents": true}), json!({"path": "D:/x"}));
    let deny = granted(vec![condition(RuleAction::Deny)]);
    assert_eq!(with(Some(&yes), &deny, same), Decision::Deny);
    assert_eq!(with(Some(&no), &deny, same), Decision::Allow);
    assert_eq!(with(None, &deny, same), Decision::Deny, "unknown arguments are held strictly");
    let unread: &dyn Fn(Question<'_>) -> Question<'_> = &|it| Question { touches: None, ..it };
    assert_eq!(with(None, &deny, unread), Decision::Allow, "the tool itself is not denied");
    let redo: &dyn Fn(Question<'_>) -> Question<'_> = &|it| {
        let called =
            Some(crate::question::CalledTool { name: "create_directory", capabilities: &[] });
        Question { tool: ToolFacts { called, ..it.tool }, ..it }
    };
    assert_eq!(with(Some(&no), &deny, redo), Decision::Deny, "a redo has other arguments");
    let spare = Policy {
        risk: RiskDefaults::new(Decision::Ask, Decision::Ask),
        ..granted(vec![condition(RuleAction::Preapprove)])
    };
    assert_eq!(with(Some(&yes), &spare, same), Decision::Allow);
    assert_eq!(with(Some(&no), &spare, same), Decision::Ask);
    assert_eq!(with(None, &spare, same), Decision::Ask);
    assert_eq!(with(Some(&yes), &spare, redo), Decision::Ask);
}
