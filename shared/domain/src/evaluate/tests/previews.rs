//! The effect of a requested preview on the decision.

use super::*;
use crate::rule::Quantity;

fn with(rules: Vec<Rule>) -> Policy {
    let rules = rules.into_iter().map(|rule| rule.compile(&windows()).0).collect();
    let granted = policy(&json!({"profile": "operator", "paths": ["D:/"]}));
    Policy { rules, ..granted }
}

#[test]
fn a_read_that_says_dry_run_is_asked_about_and_counted_like_any() {
    let look = || Ask::path("list_directory", Risk::Low, "D:/x", Access::Read);
    let preview = || Ask { dry_run: true, ..look() };
    for action in [RuleAction::Ask, RuleAction::DryRunFirst] {
        let rule = Rule { dry_run_first: true, ..Rule::new("finance", action) };
        let asking = with(vec![rule]);
        assert_eq!((look().of(&asking).0, preview().of(&asking).0), (Decision::Ask, Decision::Ask));
    }
    let careful = RiskDefaults::new(Decision::DryRunFirst, Decision::Ask);
    let careful = Policy { risk: careful, ..with(Vec::new()) };
    assert_eq!(preview().of(&careful).0, Decision::Ask);
    let above = Some(Quantity { entries: Some(3), bytes: None });
    let large = with(vec![Rule { above, ..Rule::new("large", RuleAction::Deny) }]);
    let counted = Some(Counted { earlier: &[], quantity: None });
    assert_eq!(Ask { counted, ..preview() }.of(&large).0, Decision::Deny);
}

#[test]
fn what_was_judged_without_its_arguments_permits_nothing() {
    let granted = with(Vec::new());
    Ask::make("D:/x").asked(&granted, |question, _| {
        let listed = Question { touches: None, ..*question };
        let evaluation = evaluate(&listed, &granted);
        assert_eq!(evaluation.decision(), Decision::Allow);
        let refused = evaluation.permit(&listed, &granted, None).map_err(|error| error.code);
        assert_eq!(refused, Err(ErrorCode::Internal));
    });
}
