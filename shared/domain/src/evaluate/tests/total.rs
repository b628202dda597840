//! Every question under every policy has a decision that keeps the laws.

use proptest::prelude::*;

use super::*;
use crate::rule::{Approvers, Hours, Quantity, Rate};

const PATHS: [&str; 8] =
    ["D:/", "D:/a", "D:/a/b", "D:/a/.env", "C:/Windows/x", "C:/Users/ann/.ssh", "E:/", "C:/"];
const TOOLS: [&str; 3] = ["create_directory", "delete_directory", "list_directory"];

fn grants() -> impl Strategy<Value = serde_json::Value> {
    let paths = prop::sample::subsequence(PATHS.to_vec(), 0..4);
    let profile = prop::sample::select(vec!["reader", "operator", "strict"]);
    (prop::option::of(prop::sample::subsequence(TOOLS.to_vec(), 0..3)), profile, paths, any::<bool>())
        .prop_map(|(tools, profile, paths, read_only)| {
            json!({"tools": tools, "profile": profile, "paths": paths, "read_only": read_only})
        })
}

fn rule() -> impl Strategy<Value = Rule> {
    let action = prop::sample::select(vec![
        RuleAction::Deny,
        RuleAction::Ask,
        RuleAction::DryRunFirst,
        RuleAction::Preapprove,
    ]);
    let tools = prop::sample::subsequence(TOOLS.to_vec(), 0..3);
    let mut entries = PATHS.to_vec();
    entries.push("D:relative");
    let paths = prop::sample::subsequence(entries, 0..2);
    let hours = prop::option::of((0u16..1440, 0u16..=1440));
    let conditions =
        (prop::option::of(0u32..3), prop::option::of(0u64..3), prop::option::of(0i64..4));
    (action, tools, paths, hours, conditions, any::<bool>()).prop_map(
        |(action, tools, paths, hours, (limit, above, expires_at), flag)| Rule {
            tools: tools.into_iter().map(ToOwned::to_owned).collect(),
            paths: paths.into_iter().map(ToOwned::to_owned).collect(),
            hours: hours.map(|(from, to)| Hours { from, to, days: Vec::new() }),
            limit: limit.map(|calls| Rate { calls, per_seconds: 60 }),
            above: above.map(|entries| Quantity { entries: Some(entries), bytes: None }),
            expires_at,
            ignore_provenance: flag,
            dry_run_first: flag,
            approvers: Approvers { not_requester: flag, ..Approvers::default() },
            ..Rule::new("r", action)
        },
    )
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let mode = prop::option::of(0i64..4);
    let decision = prop::sample::select(vec![Decision::Allow, Decision::Ask, Decision::Deny]);
    let rules = prop::collection::vec(rule(), 0..4);
    (grants(), prop::option::of(grants()), rules, mode, decision).prop_map(
        |(grants, ceiling, rules, mode, medium)| Policy {
            ceiling: ceiling.map(|ceiling| policy(&ceiling).grants),
            rules: rules.into_iter().map(|rule| rule.compile(&windows()).0).collect(),
            mode: mode.map_or(Mode::Safe, |until| Mode::Dangerous { until }),
            risk: RiskDefaults::new(Decision::Allow, medium),
            ..policy(&grants)
        },
    )
}

fn any_ask() -> impl Strategy<Value = Ask> {
    let tool = prop::sample::select(TOOLS.to_vec());
    let risk = prop::sample::select(vec![Risk::Low, Risk::Medium, Risk::High, Risk::Critical]);
    let access = prop::sample::select(vec![Access::Read, Access::Write, Access::Delete]);
    let role = prop::sample::select(vec![Role::Viewer, Role::Operator, Role::Admin]);
    let path = prop::sample::select(PATHS.to_vec());
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), prop::option::of(any::<bool>()));
    (tool, risk, access, role, path, flags, 0i64..4).prop_map(
        |(tool, risk, access, role, path, (dry_run, confirmed, tainted, counted), unix_ms)| Ask {
            role,
            dry_run,
            confirmed,
            tainted,
            at: Moment { unix_ms, weekday: 0, minute: 600 },
            counted: counted.map(|many| Counted {
                earlier: if many { &[9, 9, 9] } else { &[] },
                quantity: None,
            }),
            ..Ask::path(tool, risk, path, access)
        },
    )
}

fn decision(ask: &Ask, policy: &Policy) -> Decision {
    ask.asked(policy, |_, evaluation| evaluation.decision())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn there_is_always_an_answer_and_it_is_the_strictest_that_was_said(
        ask in any_ask(),
        policy in any_policy(),
    ) {
        ask.asked(&policy, |question, evaluation| {
            let strictest = evaluation.evidence().iter().map(|line| line.decision).max();
            assert_eq!(strictest, Some(evaluation.decision()));
            assert_eq!(evaluation.deciding().map(|line| line.decision), strictest);
            assert!(evaluation.approvers().count >= 1);
            let allowed = evaluation.decision() == Decision::Allow;
            assert_eq!(evaluation.permit(question, &policy, None).is_ok(), allowed);
            assert_eq!(evaluation.hints(question, &policy).is_empty(), allowed);
            let refusal = evaluation.refusal(question, &policy);
            assert!(!refusal.message.is_empty());
            if evaluation.decision() == Decision::Deny {
                let approved = Approved::of(ApprovalId::new(uuid::Uuid::from_u128(1)));
                assert!(evaluation.permit(question, &policy, Some(approved)).is_err());
            }
        });
    }

    #[test]
    fn of_what_only_looks_a_preview_is_judged_as_the_look_itself(
        ask in any_ask(),
        policy in any_policy(),
    ) {
        let ask = Ask { tool: "list_directory", ..ask };
        let answers = |dry_run| {
            Ask { dry_run, ..Ask { touches: ask.touches.clone(), ..ask } }.asked(&policy, |_, it| {
                (it.evidence().to_vec(), it.approvers(), it.preview_first())
            })
        };
        let (_, _, preview_first) = answers(true);
        assert!(!preview_first);
        assert_eq!(answers(true), answers(false));
    }

    #[test]
    fn nobody_is_let_through_by_a_ceiling_a_tightening_rule_or_strangers_content(
        ask in any_ask(),
        policy in any_policy(),
        ceiling in grants(),
        more in rule(),
    ) {
        let before = decision(&ask, &policy);
        let narrowed = Policy { ceiling: Some(super::policy(&ceiling).grants), ..policy.clone() };
        if policy.ceiling.is_none() {
            prop_assert!(decision(&ask, &narrowed) >= before);
        }
        let mut tightened = policy.clone();
        let tightens = more.action.tightens();
        tightened.rules.push(more.compile(&windows()).0);
        if tightens {
            prop_assert!(decision(&ask, &tightened) >= before);
        } else if before == Decision::Deny {
            prop_assert_eq!(decision(&ask, &tightened), Decision::Deny);
        }
        let tainted = Ask { tainted: true, touches: ask.touches.clone(), ..ask };
        prop_assert!(decision(&tainted, &policy) >= before);
    }

    #[test]
    fn a_read_only_backend_denies_every_change_and_nothing_else(
        ask in any_ask(),
        policy in any_policy(),
    ) {
        let before = decision(&ask, &policy);
        let read_only = Policy { writes_disabled: true, ..policy };
        ask.asked(&read_only, |question, evaluation| {
            let changes = question.tool.has_effects && !question.dry_run;
            let expected = if changes { Decision::Deny } else { before };
            assert_eq!(evaluation.decision(), expected);
            let line = evaluation.evidence().iter().find(|it| it.reason == Reason::WritesDisabled);
            assert_eq!(line.is_some(), changes);
            if let Some(line) = line {
                let error = line.error(question, &read_only);
                assert_eq!(error.code, ErrorCode::WriteDisabled);
            }
        });
    }

    #[test]
    fn what_dangerous_mode_allows_is_inside_the_paths_and_the_ceiling(
        ask in any_ask(),
        policy in any_policy(),
    ) {
        let dangerous = Policy { mode: Mode::Dangerous { until: i64::MAX }, ..policy.clone() };
        let safe = Policy { mode: Mode::Safe, ..policy };
        let (safe_says, dangerous_says) = (decision(&ask, &safe), decision(&ask, &dangerous));
        prop_assert!(dangerous_says <= safe_says);
        if dangerous_says != safe_says {
            ask.asked(&safe, |_, evaluation| {
                for line in evaluation.evidence() {
                    let lifted = matches!(line.reason, Reason::ToolNotListed | Reason::CapabilityMissing(_));
                    assert!(line.decision < Decision::Deny || (lifted && line.layer == Layer::Grants));
                }
            });
        }
    }
}
