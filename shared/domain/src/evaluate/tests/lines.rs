//! The trace: each layer that is asked says either that nothing objects or what does.

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
    let permit = |yes| {
        Ask::make("C:/Users/njsch/Test").asked(&policy, |question, evaluation| {
            evaluation.permit(question, &policy, yes).map(|permit| permit.approval())
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
