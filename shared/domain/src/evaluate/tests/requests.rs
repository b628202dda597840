//! Temporary grants: the smallest that lets a denied call run, and what it does not lift.

use super::*;
use crate::temporary::TemporaryGrant;

const STYLE: PathStyle = PathStyle::Windows;

fn requested(ask: &Ask, policy: &Policy) -> Result<TemporaryGrant, NotGrantable> {
    ask.asked(policy, |question, evaluation| {
        evaluation.temporary_grant(question, policy, STYLE, ("r1".to_owned(), 1_000))
    })
}

/// Decides a call under a policy with a temporary grant.
fn with(ask: &Ask, policy: &Policy, grant: &TemporaryGrant) -> Decision {
    let policy = Policy { temporary: vec![grant.clone().compile(STYLE)], ..policy.clone() };
    ask.asked(&policy, |question, _| {
        let widened = policy.for_calls(&question.tool, question.caller, question.at);
        evaluate(question, widened.as_ref().unwrap_or(&policy)).decision()
    })
}

#[test]
fn the_smallest_grant_lets_the_call_run_and_no_other() {
    let policy =
        policy(&json!({"tools": ["list_directory"], "capabilities": [], "paths": ["C:/a"]}));
    let ask = Ask::make("D:/x/y");
    let grant = requested(&ask, &policy).unwrap();
    assert_eq!(
        grant.lines(),
        [
            "the tool create_directory",
            "the permission file_write",
            "write D:/x/y, with all that it contains"
        ]
    );
    let is_allowed = |ask: &Ask| with(ask, &policy, &grant) == Decision::Allow;
    assert!(is_allowed(&ask));
    assert!(is_allowed(&Ask::make("D:/x/y/below")));
    for other in ["D:/x", "D:/x/z", "D:/x/yy", "D:/x/y/../z", "C:/b"] {
        assert!(!is_allowed(&Ask::make(other)), "{other}");
    }
    let of_bob = Ask { user: "bob", ..Ask::make("D:/x/y") };
    let reading = Ask::path("list_directory", Risk::Low, "D:/x/y", Access::Read);
    let late = Ask { at: Moment { unix_ms: 1_000, ..Moment::default() }, ..Ask::make("D:/x/y") };
    let just = Ask { at: Moment { unix_ms: 999, ..Moment::default() }, ..Ask::make("D:/x/y") };
    assert!(!is_allowed(&of_bob) && !is_allowed(&reading) && !is_allowed(&late));
    assert!(is_allowed(&just));
}

#[test]
fn a_tool_that_is_denied_is_granted_for_what_that_call_touched_and_not_for_what_other_tools_may() {
    for lacking in [
        json!({"tools": ["list_directory"], "capabilities": ["file_write"], "paths": ["C:/a"]}),
        json!({"tools": ["create_directory"], "capabilities": [], "paths": ["C:/a"]}),
    ] {
        let policy = policy(&lacking);
        let grant = requested(&Ask::make("C:/a/x"), &policy).unwrap();
        assert!(grant.lines().contains(&"write C:/a/x, with all that it contains".to_owned()));
        assert_eq!(with(&Ask::make("C:/a/x"), &policy, &grant), Decision::Allow);
        assert_eq!(with(&Ask::make("C:/a/y"), &policy, &grant), Decision::Deny, "{lacking}");
    }
}

#[test]
fn one_request_asks_for_a_bounded_number_of_things() {
    let policy = policy(&json!({"profile": "operator", "paths": ["C:/a"]}));
    let paths = |count, folder: &str| {
        let mut ask = Ask::make(&format!("D:/{folder}0"));
        for number in 1..count {
            let other = Ask::make(&format!("D:/{folder}{number}"));
            ask.touches = ask.touches.and(other.touches);
        }
        requested(&ask, &policy)
    };
    assert!(paths(19, "x/").is_ok());
    assert!(matches!(paths(40, "x/"), Err(NotGrantable::Blocked(_))));
    assert!(matches!(paths(19, &"long/".repeat(60)), Err(NotGrantable::Blocked(_))));
}

#[test]
fn a_delete_is_granted_for_its_path_alone_and_still_asked_about() {
    let policy = policy(&json!({"profile": "operator", "paths": ["C:/a"]}));
    let grant = requested(&Ask::delete("D:/x/old"), &policy).unwrap();
    assert_eq!(with(&Ask::delete("D:/x/old"), &policy, &grant), Decision::Ask);
    for other in ["D:/x", "D:/x/new", "D:/"] {
        assert_eq!(with(&Ask::delete(other), &policy, &grant), Decision::Deny, "{other}");
    }
    // `confirm: true` is the caller's to add.
    let unconfirmed = Ask { confirmed: false, ..Ask::delete("D:/x/old") };
    assert_eq!(requested(&unconfirmed, &policy), Ok(grant));
}

#[test]
fn what_no_grant_lifts_is_said_and_not_granted() {
    let open = json!({"profile": "operator", "paths": ["C:/a"]});
    let blocked = |ask: &Ask, policy: &Policy| match requested(ask, policy) {
        Err(NotGrantable::Blocked(hints)) => hints.iter().map(ToString::to_string).collect(),
        other => panic!("{other:?}"),
    };
    let make = Ask::make("D:/x");
    let mut ceiling = policy(&open);
    ceiling.ceiling = Some(policy(&json!({"profile": "operator", "paths": ["C:/"]})).grants);
    let rule =
        Rule { tools: vec!["create_directory".to_owned()], ..Rule::new("no", RuleAction::Deny) };
    let ruled = Policy { rules: vec![rule.compile(&windows()).0], ..policy(&open) };
    let denied = policy(&json!({"profile": "operator", "paths": ["C:/a"], "deny_paths": ["D:/x"]}));
    let read_only = policy(&json!({"profile": "operator", "paths": ["C:/a"], "read_only": true}));
    let closed = Policy { writes_disabled: true, ..policy(&open) };
    let viewer = Ask { role: Role::Viewer, ..Ask::make("D:/x") };
    let risky = Policy { risk: RiskDefaults::new(Decision::Deny, Decision::Deny), ..policy(&open) };
    for (ask, policy, said) in [
        (&make, ceiling, "the ceiling of laptop-123"),
        (&make, ruled, "the rule no"),
        (&make, denied, "out of the deny_paths"),
        (&make, read_only, "read_only"),
        (&make, closed, "orion-server.toml"),
        (&viewer, policy(&open), "the role operator"),
        (&make, risky, "risk run in the policy"),
    ] {
        let hints: Vec<String> = blocked(ask, &policy);
        assert!(hints.iter().any(|hint| hint.contains(said)), "{said}: {hints:?}");
    }
    // Secrets and the root of a drive are in no temporary grant.
    for path in ["D:/x/.ssh/id_ed25519", "D:/"] {
        assert!(requested(&Ask::make(path), &policy(&open)).is_err(), "{path}");
    }
    let inside = Ask::make("C:/a/b");
    assert_eq!(requested(&inside, &policy(&open)), Err(NotGrantable::NotNeeded));
}

#[test]
fn a_line_shows_what_is_hidden_in_a_path() {
    let style = PathStyle::Posix;
    let path = DevicePath::parse(style, "/srv/a\n\u{202e}b").unwrap();
    let mut grant = TemporaryGrant::new("r".into(), "ann".parse().unwrap(), "t".into(), 0);
    let access = [Access::Read].into();
    grant.paths.push(crate::grants::PathGrant { path: path.to_string(), access });
    assert_eq!(grant.lines()[1], "read /srv/a\u{240a}\u{fffd}b, with all that it contains");
    let changed = TemporaryGrant { tool: "u".to_owned(), ..grant.clone() };
    assert_ne!(changed.digest("d"), grant.digest("d"));
    assert_ne!(grant.digest("e"), grant.digest("d"));
    let later = TemporaryGrant { expires_at: 5, request: "s".to_owned(), ..grant.clone() };
    assert_eq!(later.digest("d"), grant.digest("d"));
}
