//! Applications, addresses and words: what a call touches besides paths, and its names in messages.

use super::*;
use crate::grants::{Profile, Scope};
use crate::services::Service;
use crate::touches::{CommandTouch, ServiceTouch};

fn opens(app: &str, urls: &[&str]) -> Ask {
    let touches = Touches {
        apps: vec![app.to_owned()],
        urls: urls.iter().map(|url| (*url).to_owned()).collect(),
        ..Touches::nothing()
    };
    Ask { tool: "open_app", touches, ..Ask::make("D:/") }
}

#[test]
fn an_application_is_opened_where_it_is_listed_and_nowhere_else() {
    let granted = policy(&json!({"profile": "operator", "apps": ["chrome"]}));
    assert_eq!(opens("chrome", &[]).of(&granted).0, Decision::Allow);
    for app in ["code", "Chrome", "chrome.exe", ""] {
        let (decision, code, _) = opens(app, &[]).of(&granted);
        assert_eq!((decision, code), (Decision::Deny, Some(ErrorCode::AppNotWhitelisted)), "{app}");
    }
    let none = policy(&json!({"profile": "operator"}));
    assert_eq!(opens("chrome", &[]).of(&none).1, Some(ErrorCode::AppNotWhitelisted));
    let owned = Policy { ceiling: Some(none.grants), ..granted };
    assert_eq!(opens("chrome", &[]).of(&owned).1, Some(ErrorCode::AppNotWhitelisted));
}

fn starts(program: &str, arguments: &[&str]) -> Ask {
    let arguments = arguments.iter().map(|&it| it.to_owned()).collect();
    let command = CommandTouch {
        program: program.to_owned(),
        arguments,
        folder: DevicePath::parse(PathStyle::Windows, "D:/").unwrap(),
    };
    let touches = Touches { commands: vec![command], ..Touches::nothing() };
    Ask { touches, ..Ask::make("D:/") }
}

#[test]
fn a_command_is_started_where_it_is_listed_and_nowhere_else() {
    let listed = policy(&json!({
        "profile": "developer", "commands": ["git", {"program": "backup", "args": ["--dry-run"]}]
    }));
    let unlisted = policy(&json!({"profile": "developer"}));
    for (program, arguments, by_list, without) in [
        ("git", &["push"][..], Decision::Allow, Decision::Allow),
        ("backup", &["--dry-run"], Decision::Allow, Decision::Allow),
        ("backup", &["--now"], Decision::Deny, Decision::Allow),
        ("cargo", &[], Decision::Deny, Decision::Allow),
        ("docker", &["ps"], Decision::Deny, Decision::Deny),
    ] {
        let call = starts(program, arguments);
        assert_eq!(call.of(&listed).0, by_list, "{program}");
        assert_eq!(call.of(&unlisted).0, without, "{program}");
        let owned = Policy { ceiling: Some(listed.grants.clone()), ..unlisted.clone() };
        assert_eq!(call.of(&owned).0, by_list.max(without), "{program}: the ceiling only narrows");
        let code = (by_list == Decision::Deny).then_some(ErrorCode::CommandNotAllowed);
        assert_eq!(call.of(&listed).1, code, "{program}");
    }
}

#[test]
fn a_service_is_read_or_changed_where_it_is_listed_for_that_and_nowhere_else() {
    let listed = policy(&json!({
        "profile": "homelab", "services": ["nginx", {"unit": "db", "read_only": true}]
    }));
    let unlisted = policy(&json!({"profile": "homelab"}));
    for (service, changes, allowed) in [
        ("nginx.service", false, true),
        ("nginx.service", true, true),
        ("db.service", false, true),
        ("db.service", true, false),
        ("container:nginx", false, false),
        ("sshd.service", false, false),
    ] {
        let service = Service::parse(service).unwrap();
        let touch = ServiceTouch { service: service.clone(), changes };
        let call = Ask { touches: Touches::service(touch), ..Ask::make("D:/") };
        let refused = Some(ErrorCode::PermissionDenied);
        let code = if allowed { None } else { refused };
        assert_eq!(call.of(&listed).1, code, "{service} {changes}");
        assert_eq!(call.of(&unlisted).1, refused, "{service}: nothing is listed");
        let owned = Policy { ceiling: Some(unlisted.grants.clone()), ..listed.clone() };
        assert_eq!(call.of(&owned).1, refused, "{service}: the ceiling only narrows");
    }
    let db = Touches::service(ServiceTouch::change(Service::parse("db").unwrap()));
    let hint = Ask { touches: db, ..Ask::make("D:/") }
        .asked(&listed, |question, evaluation| evaluation.hints(question, &listed));
    assert!(hint[0].text.contains("take read_only from \"db.service\""), "{hint:?}");
}

#[test]
fn a_log_is_read_where_it_is_listed_and_a_listed_service_is_not_enough() {
    let listed = policy(&json!({"profile": "homelab", "logs": ["nginx"], "services": ["db"]}));
    let unlisted = policy(&json!({"profile": "homelab", "services": ["nginx", "db"]}));
    for (service, allowed) in [("nginx", true), ("db", false), ("container:nginx", false)] {
        let touches = Touches::log(Service::parse(service).unwrap());
        let call = Ask { touches, ..Ask::make("D:/") };
        let refused = Some(ErrorCode::PermissionDenied);
        let code = if allowed { None } else { refused };
        assert_eq!(call.of(&listed).1, code, "{service}");
        assert_eq!(call.of(&unlisted).1, refused, "{service}: no log is listed");
        let owned = Policy { ceiling: Some(unlisted.grants.clone()), ..listed.clone() };
        assert_eq!(call.of(&owned).1, refused, "{service}: the ceiling only narrows");
    }
    let touches = Touches::log(Service::parse("db").unwrap());
    let hint = Ask { touches, ..Ask::make("D:/") }
        .asked(&listed, |question, evaluation| evaluation.hints(question, &listed));
    assert!(hint[0].text.contains("add \"db.service\" to the logs"), "{hint:?}");
}

#[rstest]
#[case("http://example.com", None)]
#[case("https://example.com", None)]
#[case("HTTPS://EXAMPLE.COM", None)]
#[case("http://", None)]
#[case("https://", None)]
#[case("http:/", Some(ErrorCode::UrlForbidden))]
#[case("https:/", Some(ErrorCode::UrlForbidden))]
#[case("https:/x/", Some(ErrorCode::UrlForbidden))]
#[case("file:///etc/passwd", Some(ErrorCode::UrlForbidden))]
#[case("javascript:alert(1)", Some(ErrorCode::UrlForbidden))]
#[case("httpsx://example.com", Some(ErrorCode::UrlForbidden))]
#[case("ftp://http://", Some(ErrorCode::UrlForbidden))]
#[case("", Some(ErrorCode::UrlForbidden))]
#[case("\u{212a}ttp://example.com", Some(ErrorCode::UrlForbidden))]
fn only_plain_addresses_are_opened(#[case] url: &str, #[case] expected: Option<ErrorCode>) {
    let granted = policy(&json!({"profile": "operator", "apps": ["chrome"]}));
    assert_eq!(opens("chrome", &[url]).of(&granted).1, expected);
    // An invalid URL is not hidden behind a valid one.
    let both = opens("chrome", &["https://example.com", url]);
    assert_eq!(both.of(&granted).1, expected);
}

#[test]
fn everything_that_a_call_touches_has_to_be_lent() {
    let granted = policy(&json!({"profile": "operator", "paths": ["D:/"], "apps": ["chrome"]}));
    let path = |text: &str| Ask::make(text).touches.paths;
    for (paths, code) in [
        (["D:/a", "D:/b"], None),
        (["D:/a", "C:/b"], Some(ErrorCode::PathNotAllowed)),
        (["C:/a", "D:/b"], Some(ErrorCode::PathNotAllowed)),
        (["D:/a", "D:/.ssh/b"], Some(ErrorCode::PathNotAllowed)),
    ] {
        let paths = paths.iter().flat_map(|text| path(text)).collect();
        let touches = Touches { paths, ..Touches::nothing() };
        assert_eq!(Ask { touches, ..Ask::make("D:/") }.of(&granted).1, code);
    }
}

#[test]
fn two_paths_of_one_call_are_both_looked_at() {
    let granted = policy(&json!({"profile": "operator", "paths": ["D:/"]}));
    let other = |text: &str| DevicePath::parse(PathStyle::Windows, text).unwrap();
    let make = |text: &str| {
        let touches = Ask::make("D:/a").touches.and_path(other(text), Access::Write);
        assert_eq!(touches.paths.len(), 2);
        Ask { touches, ..Ask::make("D:/a") }
    };
    assert_eq!(make("D:/b").of(&granted).0, Decision::Allow);
    assert_eq!(make("C:/b").of(&granted).1, Some(ErrorCode::PathNotAllowed));
}

#[test]
fn a_layer_that_objects_says_nothing_else_and_one_that_does_not_says_so() {
    let granted = policy(&json!({"profile": "operator", "paths": ["D:/"]}));
    let lines = |path: &str| {
        Ask::make(path).asked(&granted, |_, evaluation| {
            let lines = evaluation.evidence().iter();
            lines.map(|line| (line.layer, line.decision)).collect::<Vec<_>>()
        })
    };
    let (allow, deny) = (Decision::Allow, Decision::Deny);
    let of = |grants| vec![(Layer::Caller, allow), (Layer::Grants, grants), (Layer::Risk, allow)];
    assert_eq!((lines("D:/x"), lines("C:/x")), (of(allow), of(deny)));
}

#[test]
fn a_permit_names_the_approval_that_it_rests_on() {
    let granted = policy(&json!({"profile": "operator", "paths": ["D:/"]}));
    let approved = Approved::of(ApprovalId::new(uuid::Uuid::from_u128(9)));
    let approval = Ask::delete("D:/x").asked(&granted, |question, evaluation| {
        let permit = evaluation.permit(question, &granted, Some(approved)).unwrap();
        (permit.rule().to_owned(), permit.approval())
    });
    assert_eq!(approval, ("risk high".to_owned(), Some(approved.id())));
    let denied = Ask::delete("C:/x").asked(&granted, |question, evaluation| {
        evaluation.permit(question, &granted, Some(approved)).map(drop).map_err(|error| error.code)
    });
    assert_eq!(denied, Err(ErrorCode::PathNotAllowed));
}

#[test]
fn each_profile_lends_what_it_says() {
    use Capability::{
        AppControl, CommandExecute, DevTools, DeviceInfo, FileDelete, FileRead, FileWrite,
        HomelabControl, NetworkAccess, ProcessKill, ServiceRead,
    };
    let reads = vec![FileRead, DeviceInfo, ServiceRead];
    let operates = [&reads[..], &[FileWrite, FileDelete, AppControl, ProcessKill]].concat();
    for (profile, expected) in [
        (Profile::Reader, reads),
        (Profile::Operator, operates.clone()),
        (Profile::Strict, operates.clone()),
        (Profile::Developer, [&operates[..], &[CommandExecute, DevTools, NetworkAccess]].concat()),
        (Profile::Homelab, [&operates[..], &[HomelabControl]].concat()),
    ] {
        assert_eq!(profile.capabilities(), expected, "{profile:?}");
    }
}

#[test]
fn every_line_of_grants_is_compiled() {
    let compiled = |grants: serde_json::Value| {
        let grants: Grants = serde_json::from_value(grants).unwrap();
        grants.compile(&windows()).0
    };
    let all = compiled(json!({
        "profile": "strict", "tools": ["open_app"], "capabilities": ["file_read"],
        "paths": ["D:/a"], "deny_paths": ["D:/a/b"], "apps": ["chrome"], "read_only": true,
    }));
    assert_eq!(all.tools, Some(["open_app".to_owned()].into()));
    assert_eq!(all.capabilities, Some([Capability::FileRead].into()));
    assert_eq!(all.apps, ["chrome".to_owned()].into());
    assert_eq!((all.read_only, all.strict, all.deny_all_paths), (true, true, false));
    assert_eq!(all.allowed_roots(Access::Delete), ["D:/a"]);
    let own = all.denied.iter().filter(|entry| entry.built_in.is_none());
    assert_eq!(own.map(|entry| entry.pattern.as_text()).collect::<Vec<_>>(), ["D:/a/b"]);
    assert!(all.denied.iter().any(|entry| entry.built_in.is_some()));
    let first: Grants = serde_json::from_value(json!({"paths": ["D:/a", "D:/b"]})).unwrap();
    assert_eq!((first.workspace(), Grants::default().workspace()), (Some("D:/a"), None));
    let none = compiled(json!({}));
    assert_eq!(none.tools, None);
    assert_eq!(none.capabilities, Some([].into()));
    assert_eq!((none.read_only, none.strict, none.deny_all_paths), (false, false, false));
    assert_eq!(compiled(json!({"tools": ["open_app"]})).capabilities, None);
    assert!(compiled(json!({"deny_paths": ["D:x"]})).deny_all_paths);
    let nothing = Scope::nothing();
    assert_eq!((nothing.read_only, nothing.deny_all_paths), (true, true));
    assert_eq!((nothing.tools, nothing.capabilities), (Some([].into()), Some([].into())));
}

#[test]
fn decisions_and_roles_are_said_by_one_word() {
    let decisions = [Decision::Allow, Decision::DryRunFirst, Decision::Ask, Decision::Deny];
    assert_eq!(decisions.map(Decision::as_str), ["allow", "dry_run_first", "ask", "deny"]);
    for decision in decisions {
        assert_eq!(serde_json::to_value(decision).unwrap(), json!(decision.as_str()));
    }
    for (role, name) in
        [(Role::Viewer, "viewer"), (Role::Operator, "operator"), (Role::Admin, "admin")]
    {
        assert_eq!((role.as_str(), role.to_string().as_str()), (name, name));
        assert_eq!(name.parse(), Ok(role));
    }
    assert!("root".parse::<Role>().is_err());
}

#[test]
fn what_the_device_reports_is_named_once_beside_what_the_path_shows() {
    use crate::raise::RiskRaise::{CannotBeUndone, StartsPrograms};
    let granted = policy(&json!({"profile": "operator", "paths": ["D:/"]}));
    for (path, reported, expected) in [
        ("D:/x.bat", &[StartsPrograms][..], &[StartsPrograms][..]),
        ("D:/x.bat", &[CannotBeUndone, StartsPrograms], &[StartsPrograms, CannotBeUndone]),
        ("D:/x.txt", &[CannotBeUndone, CannotBeUndone], &[CannotBeUndone]),
        ("D:/x.txt", &[], &[]),
    ] {
        let ask = Ask::path("write_file", Risk::Medium, path, Access::Write);
        let raises = ask.asked(&granted, |question, _| {
            let question = Question { raises: reported, ..*question };
            evaluate(&question, &granted).raises().to_vec()
        });
        assert_eq!(raises, expected, "{path} {reported:?}");
    }
}

#[test]
fn an_evaluation_names_what_raises_the_risk() {
    let raises = |path: &str| {
        let ask = Ask::path("write_file", Risk::Medium, path, Access::Write);
        ask.asked(&policy(&json!({"profile": "operator", "paths": ["D:/"]})), |_, evaluation| {
            evaluation.raises().to_vec()
        })
    };
    assert_eq!(raises("D:/x.bat"), [crate::raise::RiskRaise::StartsPrograms]);
    assert_eq!(raises("D:/x.txt"), []);
    // The approval is required for that reason.
    let ask = Ask::path("write_file", Risk::Medium, "D:/x.bat", Access::Write);
    let rule = ask.asked(
        &policy(&json!({"profile": "operator", "paths": ["D:/"]})),
        |question, evaluation| {
            evaluation
                .rule_name(question, &policy(&json!({"profile": "operator", "paths": ["D:/"]})))
        },
    );
    assert_eq!(rule, "risk high: starts_programs");
}

#[test]
fn a_denied_path_is_denied_in_any_case_and_its_copies_are_other_files() {
    let grants = json!({"profile": "operator", "paths": ["D:/"], "deny_paths": ["D:/a/notes.txt"]});
    let decision = |path| Ask::make(path).of(&policy(&grants)).0;
    assert_eq!(decision("D:/a/NOTES.TXT"), Decision::Deny);
    for copy in ["D:/a/notes.txt.bak", "D:/a/notes.txt~", "D:/a/notes (1).txt"] {
        assert_eq!(decision(copy), Decision::Allow, "{copy}");
    }
    // Of a secret, the copies are secret too.
    assert_eq!(decision("D:/a/id_rsa.bak"), Decision::Deny);
}
