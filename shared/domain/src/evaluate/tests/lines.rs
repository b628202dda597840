//! The trace: each evaluated layer adds either its objections or a line without one.

use super::*;

fn said(ask: &Ask, policy: &Policy) -> Vec<(Layer, Decision, Reason)> {
    ask.asked(policy, |_, evaluation| {
        let line = |it: &Evidence| (it.layer, it.decision, it.reason);
        evaluation.evidence().iter().map(line).collect()
    })
}

#[test]
fn a_layer_that_does_not_object_says_so_once() {
    let policy = policy(&seed_grants());
    let policy = Policy { ceiling: Some(policy.grants.clone()), ..policy };
    let fits = |layer| (layer, Decision::Allow, Reason::Fits);
    let all = [Layer::Caller, Layer::Grants, Layer::Ceiling, Layer::Risk].map(fits);
    assert_eq!(said(&Ask::make("C:/Users/njsch/Test"), &policy), all);
}

#[test]
fn a_layer_that_objects_says_all_that_it_has_and_not_that_it_fits() {
    let policy = policy(&seed_grants());
    let mut ask = Ask::path("write_file", Risk::Low, "C:/Windows/x", Access::Write);
    ask.touches.apps.push("notepad".to_owned());
    let deny = |reason| (Layer::Grants, Decision::Deny, reason);
    let expected = [
        (Layer::Caller, Decision::Allow, Reason::Fits),
        deny(Reason::ToolNotListed),
        deny(Reason::PathOutside { touch: 0 }),
        deny(Reason::AppNotListed { touch: 0 }),
        (Layer::Risk, Decision::Allow, Reason::Fits),
    ];
    assert_eq!(said(&ask, &policy), expected);
}

#[test]
fn a_permit_names_the_answer_it_rests_on() {
    let policy = Policy {
        grants: self::policy(&seed_grants()).grants,
        risk: RiskDefaults::new(Decision::Ask, Decision::Ask),
        ..Policy::deny_all()
    };
    let id = ApprovalId::new(uuid::Uuid::from_u128(7));
    let permit = |approved| {
        Ask::make("C:/Users/njsch/Test").asked(&policy, |question, evaluation| {
            evaluation.permit(question, &policy, approved).map(|permit| permit.approval())
        })
    };
    assert_eq!(permit(Some(Approved::of(id))).unwrap(), Some(id));
    assert_eq!(permit(None).unwrap_err().code, ErrorCode::ApprovalRequired);
}

#[test]
fn relative_paths_start_at_the_first_path_that_is_lent() {
    let grants: Grants = serde_json::from_value(seed_grants()).unwrap();
    assert_eq!(grants.workspace(), Some("C:/Users/njsch"));
    assert_eq!(Grants::default().workspace(), None);
}

#[test]
fn what_a_call_touches_is_put_together_path_by_path() {
    let at = |path| DevicePath::parse(PathStyle::Windows, path).unwrap();
    let touch = |path, access| crate::touches::PathTouch { path: at(path), access };
    let touches =
        Touches::path(at("C:/a"), Access::Read).and_path(at("C:/b"), Access::Write).and_all_in_it();
    let paths = vec![touch("C:/a", Access::Read), touch("C:/b", Access::Write)];
    assert_eq!(touches, Touches { paths, whole: true, ..Touches::nothing() });
    assert_eq!(Touches::nothing(), Touches::default());
}

#[test]
fn the_risk_says_why_it_asks_and_where_it_is_spared() {
    let granted = policy(&seed_grants());
    let ask = Ask::delete("C:/Users/njsch/Test");
    let by_risk = |ask: &Ask, policy: &Policy| said(ask, policy).pop().unwrap();
    let asks = |reason| (Layer::Risk, Decision::Ask, reason);
    assert_eq!(by_risk(&ask, &granted), asks(Reason::Asks));
    let rule = |action| Rule {
        tools: vec!["delete_directory".to_owned()],
        paths: vec!["C:/Users/njsch/Test".to_owned()],
        ..Rule::new("r1", action)
    };
    let with = |action| {
        let rules = vec![rule(action).compile(&windows()).0];
        Policy { rules, ..policy(&seed_grants()) }
    };
    let spared = (Layer::Risk, Decision::Allow, Reason::Fits);
    assert_eq!(by_risk(&ask, &with(RuleAction::Preapprove)), spared);
    let tainted = |ask: Ask| Ask { tainted: true, ..ask };
    let make = Ask::path("create_directory", Risk::Medium, "C:/Users/njsch/x", Access::Write);
    assert_eq!(by_risk(&tainted(make), &granted), asks(Reason::AsksForProvenance));
    assert_eq!(by_risk(&tainted(Ask::delete("C:/Users/njsch/Test")), &granted), asks(Reason::Asks));
    // A rule that requires approval requires none for a preview.
    let preview = Ask { dry_run: true, ..Ask::delete("C:/Users/njsch/Test") };
    assert_eq!(preview.of(&with(RuleAction::Ask)).0, Decision::Allow);
}

#[test]
fn a_path_that_cannot_be_deleted_is_told_apart_from_one_outside() {
    let granted = policy(&seed_grants());
    let message = |path: &str| {
        Ask::delete(path)
            .asked(&granted, |question, evaluation| evaluation.refusal(question, &granted).message)
    };
    assert_eq!(
        message("D:/Projects"),
        "D:/Projects is itself an allowed path of laptop-123. Only what is in it can be deleted."
    );
    assert_eq!(
        message("D:/Other"),
        "D:/Other is not inside a path that allows delete on laptop-123: C:/Users/njsch, D:/Projects."
    );
}
