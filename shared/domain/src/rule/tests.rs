//! The conditions of a rule, each tested alone.

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::path::{DevicePath, PathStyle};

const MONDAY: u8 = 0;
const TUESDAY: u8 = 1;
const SUNDAY: u8 = 6;

fn at(weekday: u8, hour: u16, minute: u16) -> Moment {
    Moment { unix_ms: 0, weekday, minute: hour * 60 + minute }
}

#[rstest]
#[case::before((9, 17), &[], at(MONDAY, 8, 59), false)]
#[case::first_minute((9, 17), &[], at(MONDAY, 9, 0), true)]
#[case::last_minute((9, 17), &[], at(MONDAY, 16, 59), true)]
#[case::after((9, 17), &[], at(MONDAY, 17, 0), false)]
#[case::on_its_day((9, 17), &[MONDAY], at(MONDAY, 9, 0), true)]
#[case::on_another_day((9, 17), &[MONDAY], at(TUESDAY, 9, 0), false)]
#[case::evening((22, 7), &[], at(MONDAY, 22, 0), true)]
#[case::early_morning((22, 7), &[], at(MONDAY, 6, 59), true)]
#[case::morning((22, 7), &[], at(MONDAY, 7, 0), false)]
#[case::late_afternoon((22, 7), &[], at(MONDAY, 21, 59), false)]
#[case::evening_of_its_day((22, 7), &[SUNDAY], at(SUNDAY, 23, 0), true)]
#[case::the_morning_after_belongs_to_it((22, 7), &[SUNDAY], at(MONDAY, 6, 0), true)]
#[case::the_morning_before_does_not((22, 7), &[SUNDAY], at(SUNDAY, 6, 0), false)]
#[case::the_next_evening_does_not((22, 7), &[SUNDAY], at(MONDAY, 22, 0), false)]
#[case::until_midnight((22, 0), &[], at(MONDAY, 23, 59), true)]
#[case::not_past_midnight((22, 0), &[], at(MONDAY, 0, 0), false)]
#[case::a_whole_day((0, 24), &[MONDAY], at(MONDAY, 23, 59), true)]
#[case::and_no_more((0, 24), &[MONDAY], at(TUESDAY, 0, 0), false)]
fn hours_hold_by_day_and_past_midnight(
    #[case] (from, to): (u16, u16),
    #[case] days: &[u8],
    #[case] moment: Moment,
    #[case] holds: bool,
) {
    let hours = Hours { from: from * 60, to: to * 60, days: days.to_vec() };
    assert_eq!(hours.hold(moment), holds);
}

#[test]
fn hours_that_end_where_they_begin_are_a_whole_day_from_there() {
    let hours = Hours { from: 480, to: 480, days: vec![MONDAY] };
    let holds = |weekday, minute| hours.hold(Moment { unix_ms: 0, weekday, minute });
    assert_eq!([holds(MONDAY, 479), holds(MONDAY, 480)], [false, true]);
    assert_eq!([holds(TUESDAY, 479), holds(TUESDAY, 480)], [true, false]);
}

proptest! {
    #[test]
    fn hours_and_those_left_over_share_the_day(
        from in 0u16..1440,
        to in 0u16..1440,
        weekday in 0u8..7,
        minute in 0u16..1440,
    ) {
        prop_assume!(from != to);
        let moment = Moment { unix_ms: 0, weekday, minute };
        let hours = |from, to| Hours { from, to, days: Vec::new() }.hold(moment);
        prop_assert_ne!(hours(from, to), hours(to, from));
    }

    #[test]
    fn what_satisfies_both_satisfies_each(
        a in (0u8..5, any::<bool>(), any::<bool>(), any::<bool>()),
        b in (0u8..5, any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        let approvers = |(count, not_requester, second_if_any, admin): (u8, bool, bool, bool)| {
            let role = if admin { Role::Admin } else { Role::Operator };
            let (reason, passkey) = (second_if_any, not_requester);
            Approvers { role, count, not_requester, second_if_any, reason, passkey }
        };
        let (a, b) = (approvers(a), approvers(b));
        let both = a.and(b);
        for one in [a, b] {
            prop_assert!(both.role >= one.role && both.count >= one.count && both.count >= 1);
            prop_assert!(both.not_requester || !one.not_requester);
            prop_assert!(both.second_if_any || !one.second_if_any);
            prop_assert!(both.reason || !one.reason);
            prop_assert!(both.passkey || !one.passkey);
        }
        prop_assert_eq!(both, b.and(a));
        prop_assert_eq!(both.and(a), both);
    }
}

#[rstest]
#[case(Some(10), None, Some((10, 9)), false)]
#[case(Some(10), None, Some((11, 0)), true)]
#[case(None, Some(10), Some((99, 10)), false)]
#[case(None, Some(10), Some((0, 11)), true)]
#[case(Some(10), Some(10), Some((0, 11)), true)]
#[case(Some(10), None, None, true)]
#[case(None, None, Some((9, 9)), false)]
fn what_is_not_known_is_more(
    #[case] entries: Option<u64>,
    #[case] bytes: Option<u64>,
    #[case] found: Option<(u64, u64)>,
    #[case] exceeded: bool,
) {
    let found =
        found.map(|(entries, bytes)| Quantity { entries: Some(entries), bytes: Some(bytes) });
    assert_eq!(Quantity { entries, bytes }.is_exceeded_by(found), exceeded);
    let half = Quantity { entries: Some(0), bytes: None };
    assert_eq!(Quantity { entries, bytes }.is_exceeded_by(Some(half)), bytes.is_some());
}

#[test]
fn a_path_that_cannot_be_read_is_told_and_the_rest_kept_for_a_pre_approval_alone() {
    let places = Places {
        home: DevicePath::parse(PathStyle::Windows, "C:/Users/ann").ok(),
        ..Places::bare(PathStyle::Windows)
    };
    let rule = |action| Rule {
        paths: vec!["D:relative".to_owned(), "D:/x".to_owned()],
        ..Rule::new("r", action)
    };
    for action in [RuleAction::Deny, RuleAction::Ask, RuleAction::DryRunFirst] {
        let (compiled, bad) = rule(action).compile(&places);
        assert_eq!(bad.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>(), ["D:relative"]);
        assert!(compiled.paths.is_none(), "{action:?} speaks of every path");
    }
    let (compiled, bad) = rule(RuleAction::Preapprove).compile(&places);
    assert_eq!(bad.len(), 1);
    let kept = compiled.paths.unwrap();
    assert_eq!(kept.iter().map(PathPattern::as_text).collect::<Vec<_>>(), ["D:/x"]);
}

#[test]
fn a_rule_reads_back_as_it_was_sent_and_no_other_key_is_taken() {
    let rule = Rule {
        tools: vec!["delete_directory".to_owned()],
        users: vec!["ann".parse().unwrap()],
        roles: vec![Role::Operator],
        paths: vec!["~/x".to_owned()],
        hours: Some(Hours { from: 1320, to: 420, days: vec![SUNDAY] }),
        limit: Some(Rate { calls: 3, per_seconds: 3600 }),
        above: Some(Quantity { entries: Some(100), bytes: None }),
        expires_at: Some(7),
        approvers: Approvers { not_requester: true, reason: true, ..Approvers::default() },
        dry_run_first: true,
        ignore_provenance: true,
        because: "So.".to_owned(),
        source: "policy.yaml:12".to_owned(),
        ..Rule::new("r1", RuleAction::Ask)
    };
    let sent = serde_json::to_string(&rule).unwrap();
    assert_eq!(serde_json::from_str::<Rule>(&sent).unwrap(), rule);
    assert!(serde_json::from_str::<Rule>(r#"{"id":"r","action":"ask","devices":["a"]}"#).is_err());
    assert_eq!(rule.title(), "r1 (policy.yaml:12)");
    assert_eq!(Rule::new("r2", RuleAction::Deny).title(), "r2");
}
