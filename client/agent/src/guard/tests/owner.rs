//! Changes while the agent runs: of the ceiling by the owner, of the policy by the backend.

use orion_domain::DevicePath;

use super::*;
use crate::call::RiskGate;

/// The owner's ceiling, with its workspace.
fn owner(guard: &mut Guard, ceiling: &Value, workspace: &str) {
    let places = Places::parse(PathStyle::Posix, Some(workspace), Some("/home/ann")).unwrap();
    let ceiling: Grants = serde_json::from_value(ceiling.clone()).unwrap();
    let (scope, _) = ceiling.compile(&places);
    guard.limit(places, scope);
}

#[test]
fn a_ceiling_that_changes_holds_for_the_next_call_and_keeps_the_policy() {
    let mut guard = guard();
    let version = guard.policy().version.clone();
    let (inside, outside) = (make("/srv/files/x"), make("/srv/other/x"));
    assert!(guard.admit(&inside, |_| false).is_ok());
    owner(&mut guard, &json!({"profile": "operator", "paths": ["/srv/other"]}), "/srv/files");
    assert_eq!(code(&guard, &inside), ErrorCode::PathNotAllowed);
    assert!(guard.admit(&outside, |_| false).is_ok());
    owner(&mut guard, &json!({"tools": [], "read_only": true}), "/srv/files");
    assert_eq!(code(&guard, &outside), ErrorCode::PermissionDenied);
    assert_eq!(guard.policy().version, version);
}

#[test]
fn an_approval_holds_on_beneath_a_ceiling_that_still_leaves_the_call() {
    let mut guard = guard();
    let call = approved(&guard, delete());
    owner(&mut guard, &json!({"profile": "operator", "paths": ["/srv/files"]}), "/srv/files");
    assert!(guard.admit(&call, |_| false).is_ok());
    owner(&mut guard, &json!({"profile": "reader", "paths": ["/srv/files"]}), "/srv/files");
    assert_eq!(code(&guard, &call), ErrorCode::PermissionDenied);
    // If the path means another place, the approval is not for this call.
    let relative = call_of("old");
    let with_approval = approved(&guard_with(&grants(&["/srv"]), &policy()), relative);
    owner(&mut guard, &json!({"profile": "operator", "paths": ["/srv"]}), "/srv/other");
    guard.settle();
    assert_eq!(code(&guard, &with_approval), ErrorCode::ApprovalRequired);
}

fn call_of(path: &str) -> Dispatched {
    call("delete_directory", json!({"path": path, "recursive": true, "confirm": true}))
}

#[test]
fn while_the_backend_has_not_heard_of_a_workspace_relative_paths_mean_nothing() {
    let mut guard = guard();
    owner(&mut guard, &json!({"profile": "operator", "paths": ["/srv/other"]}), "/srv/other");
    let error = guard.admit(&make("x"), |_| false).unwrap_err();
    assert!(error.message.contains("workspace of this device has changed"), "{error}");
    assert!(guard.admit(&make("/srv/other/x"), |_| false).is_ok());
    guard.settle();
    let admitted = guard.admit(&make("x"), |_| false).unwrap();
    assert_eq!(admitted.parsed.touches.paths[0].path.to_string(), "/srv/other/x");
}

#[test]
fn deny_entries_and_rules_follow_the_workspace() {
    let written = json!({"profile": "operator", "paths": ["/srv"], "deny_paths": ["private"]});
    let rule = Rule { paths: vec!["kept".to_owned()], ..Rule::new("no-kept", RuleAction::Deny) };
    let grants = serde_json::from_value(written).unwrap();
    let relative = DevicePolicy { grants, rules: vec![rule], ..DevicePolicy::default() };
    let mut guard = guard_with(&self::grants(&["/srv"]), &relative);
    assert_eq!(code(&guard, &make("/srv/files/private/x")), ErrorCode::PathNotAllowed);
    owner(&mut guard, &json!({"profile": "operator", "paths": ["/srv"]}), "/srv/other");
    assert_eq!(code(&guard, &make("/srv/other/private/x")), ErrorCode::PathNotAllowed);
    assert_eq!(code(&guard, &make("/srv/other/kept/x")), ErrorCode::PermissionDenied);
    assert!(guard.admit(&make("/srv/files/private/x"), |_| false).is_ok());
}

#[test]
fn a_policy_larger_than_any_is_not_taken_and_the_one_before_holds() {
    let mut guard = guard();
    let before = guard.policy().version.clone();
    let many = |count: usize| (0..count).map(|n| format!("/srv/{n}")).collect::<Vec<_>>();
    let rule = |n: usize| Rule::new(format!("r{n}"), RuleAction::Deny);
    let wide = Rule { paths: many(30_000), ..rule(0) };
    let deny_paths = many(5_000);
    for policy in [
        DevicePolicy { rules: (0..5_000).map(rule).collect(), ..policy() },
        DevicePolicy { rules: vec![wide], ..policy() },
        DevicePolicy { grants: Grants { deny_paths, ..grants(&[]) }, ..policy() },
        DevicePolicy {
            grants: grants(&many(5_000).iter().map(String::as_str).collect::<Vec<_>>()),
            ..policy()
        },
        DevicePolicy { timezone: "x".repeat(3 << 20), ..policy() },
    ] {
        let bytes = policy.to_bytes();
        let refused = guard.update(&DevicePolicy::version_of(&bytes), &bytes);
        assert!(matches!(refused, Err(PolicyError::TooLarge(_))), "{refused:?}");
    }
    assert_eq!(guard.policy().version, before);
    assert!(guard.admit(&make("x"), |_| false).is_ok());
}

#[test]
fn a_pre_approval_saves_the_question_inside_the_ceiling_and_opens_nothing() {
    let spare = Rule {
        tools: vec!["delete_directory".to_owned()],
        ..Rule::new("spare", RuleAction::Preapprove)
    };
    let written = DevicePolicy { rules: vec![spare], ..policy() };
    let guard = guard_with(&grants(&["/srv/files"]), &written);
    let evaluated = guard.judge(&delete()).unwrap();
    assert_eq!((evaluated.decision, evaluated.rule.as_str()), (Decision::Allow, "rule spare"));
    assert_eq!(code(&guard, &call_of("/srv/other/x")), ErrorCode::PathNotAllowed);
    let ceiling = Grants { profile: Some(Profile::Strict), ..grants(&["/srv/files"]) };
    assert_eq!(code(&guard_with(&ceiling, &written), &delete()), ErrorCode::ApprovalRequired);
}

#[test]
fn where_the_hours_cannot_be_told_rules_that_tighten_hold_and_pre_approvals_do_not() {
    let always = Some(Hours { from: 0, to: 1440, days: Vec::new() });
    let never = Some(Hours { from: 0, to: 0, days: vec![7] });
    let deny = Rule {
        hours: never,
        tools: vec!["create_directory".to_owned()],
        ..Rule::new("at-night", RuleAction::Deny)
    };
    let spare = Rule {
        hours: always,
        tools: vec!["delete_directory".to_owned()],
        ..Rule::new("by-day", RuleAction::Preapprove)
    };
    let code = |timezone: &str, call: &Dispatched| {
        let (rules, timezone) = (vec![deny.clone(), spare.clone()], timezone.to_owned());
        let mut guard =
            guard_with(&grants(&["/srv/files"]), &DevicePolicy { rules, timezone, ..policy() });
        let before = guard.admit(call, |_| false).map(drop).map_err(|error| error.code);
        let (places, ceiling) = (guard.places.clone(), guard.policy().ceiling.clone().unwrap());
        guard.limit(places, ceiling);
        let after = guard.admit(call, |_| false).map(drop).map_err(|error| error.code);
        assert_eq!(before, after, "a ceiling that changes leaves the policy as it was");
        before
    };
    assert_eq!(code("UTC", &make("x")), Ok(()));
    assert_eq!(code("UTC", &delete()), Ok(()));
    assert_eq!(code("Mars/Base", &make("x")), Err(ErrorCode::PermissionDenied));
    assert_eq!(code("Mars/Base", &delete()), Err(ErrorCode::ApprovalRequired));
    // The next policy is valid again.
    let mut guard = guard_with(
        &grants(&["/srv/files"]),
        &DevicePolicy { timezone: "Mars/Base".to_owned(), ..policy() },
    );
    let bytes = DevicePolicy { rules: vec![deny], ..policy() }.to_bytes();
    guard.update(&DevicePolicy::version_of(&bytes), &bytes).unwrap();
    assert!(guard.admit(&make("x"), |_| false).is_ok());
}

#[test]
fn what_only_the_disk_shows_stops_a_call_about_which_the_owner_was_not_asked() {
    let rules = json!([{"id": "yes", "tools": ["write_file"], "action": "preapprove"}]);
    let rules = serde_json::from_value(rules).unwrap();
    let guard = guard_with(&grants(&["/srv/files"]), &DevicePolicy { rules, ..policy() });
    let write = call("write_file", json!({"path": "/srv/files/a", "content": "x"}));
    let path = DevicePath::parse(PathStyle::Posix, "/srv/files/a").unwrap();
    let raised = |asked_from: Option<Risk>, dry_run: bool| {
        let verdict = guard.admit(&write, |_| false).unwrap().verdict.unasked_from(asked_from);
        let gate = RiskGate::new(Some(verdict), Vec::new(), dry_run);
        gate.raise(RiskRaise::StartsPrograms, &path).map_err(|error| error.code)
    };
    assert_eq!(raised(None, false), Ok(()), "the policy pre-approves it");
    assert_eq!(raised(Some(Risk::Critical), false), Ok(()), "it is of high risk");
    assert_eq!(raised(Some(Risk::High), false), Err(ErrorCode::PermissionDenied));
    assert_eq!(raised(Some(Risk::Low), false), Err(ErrorCode::PermissionDenied));
    assert_eq!(raised(Some(Risk::High), true), Ok(()), "a preview changes nothing");
}
