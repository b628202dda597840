//! Each reason to reject a call, tested by a call that is valid in every other way.

use std::time::Duration;

use orion_domain::evaluate::Mode;
use orion_domain::rule::{Hours, RuleAction};
use orion_domain::{
    ApprovalBasis, CallBinding, CallId, Caller, Grants, PathStyle, Profile, Risk, Role, Rule,
};
use orion_wire::v1;
use rstest::rstest;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::*;
use crate::journal::APPROVED_REMEMBERED_MS;

#[cfg(unix)]
mod linked;
mod owner;
#[cfg(unix)]
mod requested;
mod shown;
mod undoing;

fn device() -> DeviceId {
    DeviceId::new(Uuid::from_u128(1))
}

fn places() -> Places {
    Places::parse(PathStyle::Posix, Some("/srv/files"), Some("/home/ann")).unwrap()
}

fn grants(paths: &[&str]) -> Grants {
    serde_json::from_value(json!({"profile": "operator", "paths": paths})).unwrap()
}

fn policy() -> DevicePolicy {
    DevicePolicy { grants: grants(&["/srv"]), ..DevicePolicy::default() }
}

fn guard_with(ceiling: &Grants, policy: &DevicePolicy) -> Guard {
    let (scope, bad) = ceiling.compile(&places());
    assert_eq!(bad, []);
    let mut guard = Guard::new(device(), "web-1".parse().unwrap(), places(), scope);
    let bytes = policy.to_bytes();
    guard.update(&DevicePolicy::version_of(&bytes), &bytes).unwrap();
    guard
}

fn guard() -> Guard {
    guard_with(&grants(&["/srv/files"]), &policy())
}

fn call(tool: &str, arguments: Value) -> Dispatched {
    let Value::Object(object) = arguments else { panic!("not an object") };
    let places = places();
    let (name, object) = match orion_catalog::find(tool) {
        Some((spec, _)) => match spec.parse(object.clone(), &places) {
            Ok(parsed) => {
                let Ok(Value::Object(object)) = serde_json::from_slice(parsed.arguments.as_bytes())
                else {
                    panic!("not an object")
                };
                (spec.name, object)
            }
            Err(_) => (spec.name, object),
        },
        None => (tool, object),
    };
    dispatched(name, object)
}

fn dispatched(tool: &str, object: Map<String, Value>) -> Dispatched {
    Dispatched {
        call: CallId::new(Uuid::from_u128(2)),
        device: device(),
        tool: tool.to_owned(),
        arguments: orion_domain::CanonicalArguments::from_value(&Value::Object(object.clone())),
        arguments_value: object,
        dry_run: false,
        time_left: Duration::from_secs(5),
        risk: Risk::Low,
        policy_version: "whatever the backend judged by".to_owned(),
        caller: Caller { user: "ann".parse().unwrap(), role: Role::Operator, conversation: None },
        approval: None,
        observe: false,
        observed: Vec::new(),
        definition: None,
    }
}

fn make(path: &str) -> Dispatched {
    call("create_directory", json!({"path": path}))
}

fn delete() -> Dispatched {
    call("delete_directory", json!({"path": "/srv/files/old", "recursive": true, "confirm": true}))
}

fn code(guard: &Guard, call: &Dispatched) -> ErrorCode {
    guard.admit(call, |_| false).unwrap_err().code
}

/// The call with an approval, as an honest backend would send it.
fn approved(guard: &Guard, call: Dispatched) -> Dispatched {
    approved_until(guard, call, now_ms() + 60_000)
}

fn approved_until(guard: &Guard, mut call: Dispatched, expires_at: i64) -> Dispatched {
    let (spec, _) = orion_catalog::find(&call.tool).unwrap();
    let parsed = spec.parse(call.arguments_value.clone(), &places()).unwrap();
    call.observed =
        parsed.touches.paths.iter().map(|touch| shown::nothing_at(&touch.path)).collect();
    shown::with_proof(guard, call, ApprovalBasis::Preview, expires_at)
}

#[test]
fn a_call_that_all_layers_leave_is_admitted_with_what_it_touches() {
    let admitted = guard().admit(&make("Test"), |_| false).unwrap();
    assert_eq!(admitted.spec.name, "create_directory");
    assert_eq!(admitted.permit.approval(), None);
    assert_eq!(admitted.parsed.touches.paths[0].path.to_string(), "/srv/files/Test");
}

#[rstest]
#[case::for_another_device(
    Dispatched { device: DeviceId::new(Uuid::from_u128(7)), ..make("x") },
    ErrorCode::PermissionDenied
)]
#[case::too_late(Dispatched { time_left: Duration::ZERO, ..make("x") }, ErrorCode::Timeout)]
#[case::no_such_tool(call("format_disk", json!({})), ErrorCode::ToolNotFound)]
#[case::an_alias(
    Dispatched { tool: "file_read".to_owned(), ..call("read_file", json!({"path": "x"})) },
    ErrorCode::ToolNotFound
)]
#[case::unknown_argument(call("create_directory", json!({"path": "x", "y": 1})), ErrorCode::InvalidArgument)]
#[case::wrong_type(call("create_directory", json!({"path": 1})), ErrorCode::InvalidArgument)]
#[case::nul_in_a_path(call("create_directory", json!({"path": "a\0b"})), ErrorCode::InvalidPath)]
#[case::not_the_checked_form(
    dispatched("create_directory", json!({"path": "x"}).as_object().unwrap().clone()),
    ErrorCode::InvalidArgument
)]
#[case::arguments_that_say_two_things(
    Dispatched { arguments: make("y").arguments, ..make("x") },
    ErrorCode::InvalidArgument
)]
#[case::outside_the_ceiling(make("/srv/other/x"), ErrorCode::PathNotAllowed)]
#[case::outside_everything(make("/home/ann/x"), ErrorCode::PathNotAllowed)]
#[case::out_by_dots(make("../other/x"), ErrorCode::PathNotAllowed)]
#[case::prefix_twin(make("/srv/files2/x"), ErrorCode::PathNotAllowed)]
#[case::kept_out(make(".ssh/x"), ErrorCode::PathNotAllowed)]
#[case::app_not_listed(call("open_app", json!({"app": "chrome"})), ErrorCode::AppNotWhitelisted)]
#[case::a_viewer(
    {
        let mut call = make("x");
        call.caller.role = Role::Viewer;
        call
    },
    ErrorCode::PermissionDenied
)]
#[case::not_confirmed(
    call("delete_directory", json!({"path": "/srv/files/old"})),
    ErrorCode::ConfirmationRequired
)]
#[case::not_approved(delete(), ErrorCode::ApprovalRequired)]
#[case::made_riskier_by_the_backend(
    Dispatched { risk: Risk::High, ..make("x") },
    ErrorCode::ApprovalRequired
)]
fn each_fault_is_refused(#[case] call: Dispatched, #[case] expected: ErrorCode) {
    assert_eq!(code(&guard(), &call), expected);
}

#[test]
fn the_backend_cannot_talk_a_risk_down() {
    let mut call = delete();
    call.risk = Risk::Low;
    assert_eq!(code(&guard(), &call), ErrorCode::ApprovalRequired);
}

#[test]
fn the_ceiling_holds_whatever_the_policy_lends() {
    let wide = DevicePolicy {
        grants: Grants {
            apps: ["chrome".to_owned()].into(),
            ..grants(&["/srv", "/home", "/etc/nginx"])
        },
        mode: Mode::Dangerous { until: i64::MAX },
        ..DevicePolicy::default()
    };
    let mut ceiling = grants(&["/srv/files"]);
    ceiling.profile = Some(Profile::Reader);
    let guard = guard_with(&ceiling, &wide);
    assert_eq!(code(&guard, &make("x")), ErrorCode::PermissionDenied);
    assert_eq!(
        code(&guard, &call("read_file", json!({"path": "/home/ann/x"}))),
        ErrorCode::PathNotAllowed
    );
    assert_eq!(
        code(&guard, &call("open_app", json!({"app": "chrome"}))),
        ErrorCode::PermissionDenied
    );
    assert!(guard.admit(&call("read_file", json!({"path": "x"})), |_| false).is_ok());
    ceiling = Grants { read_only: true, ..grants(&["/srv/files"]) };
    assert_eq!(code(&guard_with(&ceiling, &wide), &make("x")), ErrorCode::WriteDisabled);
}

#[test]
fn without_a_policy_nothing_runs() {
    let (scope, _) = grants(&["/srv/files"]).compile(&places());
    let guard = Guard::new(device(), "web-1".parse().unwrap(), places(), scope);
    assert_eq!(code(&guard, &make("x")), ErrorCode::PermissionDenied);
    assert_eq!(code(&guard, &call("get_datetime", json!({}))), ErrorCode::PermissionDenied);
}

#[test]
fn an_approved_call_runs_on_its_approval() {
    let guard = guard();
    let admitted = guard.admit(&approved(&guard, delete()), |_| false).unwrap();
    assert_eq!(admitted.permit.approval(), Some(ApprovalId::new(Uuid::from_u128(9))));
}

#[test]
fn an_approval_is_for_one_call_exactly() {
    type Change = fn(&mut Dispatched);
    let changes: [(&str, Change); 4] = [
        ("call", |call| call.call = CallId::new(Uuid::from_u128(3))),
        ("user", |call| call.caller.user = "bob".parse().unwrap()),
        ("role", |call| call.caller.role = Role::Admin),
        ("chat", |call| {
            call.caller.conversation = Some(orion_domain::ConversationId::new(Uuid::from_u128(3)));
        }),
    ];
    let guard = guard();
    for (what, change) in changes {
        let mut tampered = approved(&guard, delete());
        change(&mut tampered);
        assert_eq!(code(&guard, &tampered), ErrorCode::ApprovalRequired, "{what}");
    }
    let other = call(
        "delete_directory",
        json!({"path": "/srv/files/new", "recursive": true, "confirm": true}),
    );
    let swapped = Dispatched { approval: approved(&guard, delete()).approval, ..other };
    assert_eq!(code(&guard, &swapped), ErrorCode::ApprovalRequired);
}

#[test]
fn an_approval_does_not_outlive_its_policy_or_its_use() {
    let mut guard = guard();
    let call = approved(&guard, delete());
    let spent = guard.admit(&call, |_| true).unwrap_err();
    assert_eq!(spent.code, ErrorCode::ApprovalRequired);
    assert!(spent.message.contains("used before"), "{spent}");

    let mut newer = policy();
    newer.grants.apps.insert("code".to_owned());
    let bytes = newer.to_bytes();
    guard.update(&DevicePolicy::version_of(&bytes), &bytes).unwrap();
    assert_eq!(code(&guard, &call), ErrorCode::ApprovalRequired);
}

#[test]
fn an_approval_has_its_time_and_a_longer_one_than_is_remembered_is_none() {
    let (guard, now) = (guard(), now_ms());
    let admit =
        |call: &Dispatched| guard.admit(call, |_| false).map(drop).map_err(|error| error.code);
    let refused = Err(ErrorCode::ApprovalRequired);
    assert_eq!(admit(&approved_until(&guard, delete(), now - 1)), refused);
    assert_eq!(admit(&approved_until(&guard, delete(), i64::MAX)), refused);
    let longest = now + APPROVED_REMEMBERED_MS;
    assert_eq!(admit(&approved_until(&guard, delete(), longest)), Ok(()));
    assert_eq!(admit(&approved_until(&guard, delete(), longest + 3_600_000)), refused);
    // A changed date does not make an expired approval valid.
    let mut late = approved_until(&guard, delete(), now - 1);
    late.approval.as_mut().unwrap().expires_at = now + 60_000;
    assert_eq!(admit(&late), refused);
}

#[test]
fn a_read_that_a_rule_asks_about_is_not_had_by_calling_it_a_preview() {
    let asks = Rule::new("look", RuleAction::Ask);
    let policy = DevicePolicy { rules: vec![asks], ..policy() };
    let guard = guard_with(&grants(&["/srv/files"]), &policy);
    let look = call("read_file", json!({"path": "x"}));
    assert_eq!(code(&guard, &look), ErrorCode::ApprovalRequired);
    assert_eq!(code(&guard, &Dispatched { dry_run: true, ..look }), ErrorCode::ApprovalRequired);
}

#[test]
fn an_approval_opens_nothing_that_is_denied() {
    let guard = guard();
    let outside =
        call("delete_directory", json!({"path": "/srv/other", "recursive": true, "confirm": true}));
    assert_eq!(code(&guard, &approved(&guard, outside)), ErrorCode::PathNotAllowed);
}

#[test]
fn a_preview_needs_no_approval_and_what_is_not_one_does() {
    let guard = guard();
    let preview = Dispatched { dry_run: true, ..delete() };
    assert!(guard.admit(&preview, |_| false).is_ok());
    assert_eq!(
        code(&guard, &Dispatched { dry_run: false, ..preview }),
        ErrorCode::ApprovalRequired
    );
}

#[test]
fn a_rule_by_name_holds_here_too() {
    let rule = Rule {
        tools: vec!["create_directory".to_owned()],
        because: "Ask ann.".to_owned(),
        ..Rule::new("no-folders", RuleAction::Deny)
    };
    let guard =
        guard_with(&grants(&["/srv/files"]), &DevicePolicy { rules: vec![rule], ..policy() });
    let error = guard.admit(&make("x"), |_| false).unwrap_err();
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    assert!(error.message.contains("Ask ann."), "{error}");
}

#[test]
fn a_rule_whose_path_means_nothing_here_is_held_strict() {
    let rule =
        Rule { paths: vec!["%TEMP%/x\0".to_owned()], ..Rule::new("no-temp", RuleAction::Deny) };
    let guard =
        guard_with(&grants(&["/srv/files"]), &DevicePolicy { rules: vec![rule], ..policy() });
    assert_eq!(code(&guard, &make("x")), ErrorCode::PermissionDenied);
}

#[test]
fn hours_are_told_by_this_devices_clock_in_the_policys_zone() {
    let zone = "Pacific/Kiritimati";
    let now = Timezone::named(zone).unwrap().moment(now_ms());
    let hours = |from, to| Some(Hours { from, to, days: Vec::new() });
    let (hour_ago, in_an_hour) = ((now.minute + 1380) % 1440, (now.minute + 60) % 1440);
    for (hours, expected) in [
        (hours(hour_ago, in_an_hour), Err(ErrorCode::PermissionDenied)),
        (hours(in_an_hour, hour_ago), Ok(())),
    ] {
        let rule = Rule { hours, ..Rule::new("at-night", RuleAction::Deny) };
        let timed = DevicePolicy { rules: vec![rule], timezone: zone.to_owned(), ..policy() };
        let admitted = guard_with(&grants(&["/srv/files"]), &timed).admit(&make("x"), |_| false);
        assert_eq!(admitted.map(drop).map_err(|error| error.code), expected);
    }
}

#[test]
fn a_policy_that_cannot_be_read_leaves_the_one_before() {
    let mut guard = guard();
    let before = guard.policy().version.clone();
    let bad = br#"{"grants":{"profile":"operator","ceiling":{}},"rules":[]}"#;
    let error = guard.update(&DevicePolicy::version_of(bad), bad).unwrap_err();
    assert!(matches!(error, PolicyError::Unreadable(_)), "{error}");
    let bytes = policy().to_bytes();
    let error = guard.update("0000", &bytes).unwrap_err();
    assert!(matches!(error, PolicyError::Version { .. }), "{error}");
    assert_eq!(guard.policy().version, before);
    assert!(guard.admit(&make("x"), |_| false).is_ok());
}
