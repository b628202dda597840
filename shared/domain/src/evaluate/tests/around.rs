//! Folders that contain a rule's paths, files that start programs, hosts, and which side is strict.

use super::*;
use crate::grants::Profile;

fn granted(extra: &serde_json::Value) -> Policy {
    let mut grants = json!({"profile": "operator", "paths": ["D:/"], "apps": ["chrome"]});
    grants.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    policy(&grants)
}

fn denying(path: &str) -> Policy {
    let rule = Rule { paths: vec![path.to_owned()], ..Rule::new("r1", RuleAction::Deny) };
    Policy { rules: vec![rule.compile(&windows()).0], ..granted(&json!({})) }
}

#[rstest]
#[case::the_folder_that_holds_it("D:/work/*/prod", "D:/work/a", true, Decision::Deny)]
#[case::further_up("D:/work/*/prod", "D:/work", true, Decision::Deny)]
#[case::itself("D:/work/*/prod", "D:/work/a/prod", true, Decision::Deny)]
#[case::beneath("D:/work/*/prod", "D:/work/a/prod/x", true, Decision::Deny)]
#[case::in_the_other_case("D:/work/*/prod", "D:/WORK/A", true, Decision::Deny)]
#[case::beside("D:/work/*/prod", "D:/work/a/test", true, Decision::Ask)]
#[case::the_folder_alone("D:/work/*/prod", "D:/work/a", false, Decision::Ask)]
#[case::another_branch("D:/work/b?/prod", "D:/work/a1", true, Decision::Ask)]
#[case::anywhere("**/prod", "D:/work/a", true, Decision::Ask)]
#[case::anywhere_below("D:/work/*/x/**/prod", "D:/work/a", true, Decision::Ask)]
#[case::around_a_folder("D:/work/a/prod", "D:/work", false, Decision::Deny)]
fn a_rule_speaks_of_what_goes_with_a_folder(
    #[case] written: &str,
    #[case] path: &str,
    #[case] whole: bool,
    #[case] decision: Decision,
) {
    let mut ask = Ask::delete(path);
    ask.touches.whole = whole;
    assert_eq!(ask.of(&denying(written)).0, decision, "{written} {path}");
}

fn about_deletes() -> Rule {
    let (tools, paths) = (vec!["delete_directory".to_owned()], vec!["D:/work/*/prod".to_owned()]);
    Rule { tools, paths, ..Rule::new("r1", RuleAction::Deny) }
}

#[test]
fn a_rule_awaits_what_the_paths_alone_keep_from_it() {
    let (elsewhere, policy) = (Ask::delete("D:/other"), granted(&json!({})));
    let awaits = |rule: Rule, ask: &Ask| {
        let rule = rule.compile(&windows()).0;
        ask.asked(&policy, |question, _| {
            let patterns = rule.awaits(0, question)?;
            Some(patterns.iter().map(|pattern| pattern.as_text().to_owned()).collect::<Vec<_>>())
        })
    };
    let written = Some(vec!["D:/work/*/prod".to_owned()]);
    assert_eq!(awaits(about_deletes(), &elsewhere), written);
    assert_eq!(awaits(about_deletes(), &Ask::delete("D:/work/a/prod")), None, "it speaks");
    assert_eq!(awaits(about_deletes(), &Ask::make("D:/other")), None, "another tool");
    let allowing = Rule { action: RuleAction::Preapprove, ..about_deletes() };
    assert_eq!(awaits(allowing, &elsewhere), None, "it does not tighten");
    let anywhere = Rule { paths: Vec::new(), ..about_deletes() };
    assert_eq!(awaits(anywhere, &elsewhere), None, "paths do not matter");

    let at = |minute| Ask { at: Moment { unix_ms: 7, weekday: 0, minute }, ..Ask::delete("D:/o") };
    let hours = Some(Hours { from: 480, to: 540, days: Vec::new() });
    let morning = || Rule { hours: hours.clone(), ..about_deletes() };
    assert_eq!([awaits(morning(), &at(479)), awaits(morning(), &at(480))], [None, written.clone()]);
    let until = |end| Rule { expires_at: Some(end), ..about_deletes() };
    assert_eq!([awaits(until(7), &at(0)), awaits(until(8), &at(0))], [None, written.clone()]);
    let earlier = |earlier: &'static [u32]| {
        let counted = Some(Counted { earlier, quantity: None });
        Ask { counted, ..Ask::delete("D:/o") }
    };
    let limit = Some(Rate { calls: 2, per_seconds: 60 });
    let often = || Rule { limit, ..about_deletes() };
    assert_eq!([awaits(often(), &earlier(&[1])), awaits(often(), &earlier(&[2]))], [None, written]);
}

#[test]
fn the_folders_of_a_rule_are_where_its_paths_begin() {
    let paths = ["D:/work/*/prod", "**/x", "C:/a"].map(str::to_owned).to_vec();
    let rule = Rule { paths, ..about_deletes() }.compile(&windows()).0;
    let roots: Vec<String> = rule.roots().map(ToString::to_string).collect();
    assert_eq!(roots, ["D:/work", "C:/a"]);
}

#[test]
fn a_call_counts_towards_a_limit_by_its_tool_and_its_paths() {
    let policy = granted(&json!({}));
    let rule = about_deletes().compile(&windows()).0;
    let counts = |ask: Ask| ask.asked(&policy, |question, _| rule.counts(question));
    assert!(counts(Ask::delete("D:/work/a/prod")));
    assert!(!counts(Ask::delete("D:/work/a/test")));
    assert!(!counts(Ask::make("D:/work/a/prod")));
}

#[test]
fn a_folder_by_another_case_does_not_take_a_rule_or_an_allowed_path_with_it() {
    let mac = Places::parse(PathStyle::Posix, None, Some("/Users/ann")).unwrap();
    let grants: Grants = serde_json::from_value(
        json!({"profile": "operator", "paths": ["/Users", "/Users/ann/Keep"]}),
    )
    .unwrap();
    let paths = vec!["/Users/ann/Projects/secret".to_owned()];
    let rule = Rule { paths, ..Rule::new("r1", RuleAction::Deny) };
    let policy = Policy {
        grants: grants.compile(&mac).0,
        rules: vec![rule.compile(&mac).0],
        ..Policy::deny_all()
    };
    for (path, code) in [
        ("/Users/ann/PROJECTS", ErrorCode::PermissionDenied),
        ("/Users/ANN", ErrorCode::PathNotAllowed),
        ("/Users/ann/other", ErrorCode::ApprovalRequired),
    ] {
        let path = DevicePath::parse(PathStyle::Posix, path).unwrap();
        let touches = Touches::path(path.clone(), Access::Delete).and_all_in_it();
        let ask = Ask { touches, ..Ask::delete("D:/x") };
        assert_eq!(ask.of(&policy).1, Some(code), "{path}");
    }
}

#[rstest]
#[case("D:/home/.bashrc")]
#[case("D:/ann/AppData/Roaming/Microsoft/Windows/Start Menu/Programs/StartUp/a.bat")]
#[case("D:/ann/Documents/WindowsPowerShell/profile.ps1")]
fn what_starts_programs_is_read_and_not_changed(#[case] path: &str) {
    let granted = granted(&json!({}));
    let read = Ask::path("read_file", Risk::Low, path, Access::Read);
    assert_eq!(read.of(&granted).0, Decision::Allow);
    for access in [Access::Write, Access::Delete] {
        let change = Ask::path("write_file", Risk::Medium, path, access);
        assert_eq!(change.of(&granted).1, Some(ErrorCode::PathNotAllowed), "{access}");
        let owned = Policy { ceiling: Some(granted.grants.clone()), ..granted.clone() };
        assert!(change.refused_by(&owned).unwrap().starts_with("built-in deny"));
    }
}

#[test]
fn a_host_is_contacted_where_grants_and_ceiling_list_it_and_nowhere_else() {
    let contacts = |host: &str| {
        let hosts = vec![crate::hosts::Address::parse(host).unwrap()];
        Ask {
            tool: "check_network",
            touches: Touches { hosts, ..Touches::nothing() },
            ..Ask::make("D:/")
        }
    };
    let listed = granted(&json!({"hosts": ["nas.example:443", "[::1]:8080"]}));
    let none = granted(&json!({}));
    for (host, allowed) in [
        ("nas.example:443", true),
        ("NAS.example:443", true),
        ("[0::1]:8080", true),
        ("nas.example:444", false),
        ("sub.nas.example:443", false),
        ("nas.example.:443", false),
        ("169.254.169.254:80", false),
    ] {
        let refused = Some(ErrorCode::UrlForbidden);
        let code = if allowed { None } else { refused };
        assert_eq!(contacts(host).of(&listed).1, code, "{host}");
        // Where nothing is listed, no host is contacted, unlike with addresses that an application opens.
        assert_eq!(contacts(host).of(&none).1, refused, "{host}");
        let owned = Policy { ceiling: Some(listed.grants.clone()), ..listed.clone() };
        assert_eq!(contacts(host).of(&owned).1, code, "{host}");
        let owned = Policy { ceiling: Some(none.grants.clone()), ..listed.clone() };
        assert_eq!(contacts(host).of(&owned).1, refused, "{host}");
    }
    let text = contacts("nas.example:22").asked(&listed, |question, evaluation| {
        let error = evaluation.refusal(question, &listed);
        (
            error.message.clone(),
            evaluation.rule_name(question, &listed),
            error.hints.first().map(ToString::to_string).unwrap(),
        )
    });
    assert_eq!(text.0, "nas.example:22 is not among the hosts in the grants of laptop-123.");
    assert_eq!(text.1, "grants: hosts");
    assert!(text.2.starts_with("add \"nas.example:22\" to the hosts of laptop-123"), "{}", text.2);
}

#[test]
fn where_hosts_are_listed_an_address_names_one_of_them() {
    let opens = |url: &str| {
        let touches = Touches {
            apps: vec!["chrome".to_owned()],
            urls: vec![url.to_owned()],
            ..Touches::nothing()
        };
        Ask { tool: "open_app", touches, ..Ask::make("D:/") }
    };
    let listed = granted(&json!({"hosts": ["api.example.com:443"]}));
    let none = granted(&json!({}));
    for (url, allowed) in [
        ("https://api.example.com/v1", true),
        ("https://API.example.com:443", true),
        ("http://api.example.com/v1", false),
        ("https://evil.example/?q=secret", false),
        ("https://api.example.com@evil.example/", false),
    ] {
        let code = (!allowed).then_some(ErrorCode::UrlForbidden);
        assert_eq!(opens(url).of(&listed).1, code, "{url}");
        assert_eq!(opens(url).of(&none).1, None, "{url}");
        let owned = Policy { ceiling: Some(listed.grants.clone()), ..none.clone() };
        assert_eq!(opens(url).of(&owned).1, code, "{url}");
    }
    let text = opens("https://evil.example/").asked(&listed, |question, evaluation| {
        let error = evaluation.refusal(question, &listed);
        (
            error.message.clone(),
            evaluation.rule_name(question, &listed),
            error.hints.first().map(ToString::to_string).unwrap(),
        )
    });
    assert_eq!(text.0, "evil.example:443 is not among the hosts in the grants of laptop-123.");
    assert_eq!(text.1, "grants: hosts");
    assert!(text.2.starts_with("add \"evil.example:443\" to the hosts"));
}

#[test]
fn who_is_strict_is_told_by_whose_word_counts() {
    let plain = granted(&json!({}));
    let strict = policy(&json!({"profile": "strict", "paths": ["D:/"]})).grants;
    let tools = vec!["create_directory".to_owned()];
    let spare = Rule { tools, ..Rule::new("spare", RuleAction::Preapprove) };
    let name = |grants: &Scope, ceiling: &Scope, rules: &[Rule]| {
        let rules = rules.iter().map(|rule| rule.clone().compile(&windows()).0).collect();
        let (grants, ceiling) = (grants.clone(), Some(ceiling.clone()));
        let policy = Policy { grants, ceiling, rules, ..plain.clone() };
        Ask::make("D:/x").asked(&policy, |question, evaluation| {
            let message = evaluation.refusal(question, &policy).message;
            (evaluation.rule_name(question, &policy), message.contains("the ceiling of"))
        })
    };
    let text = |name: &str, owner| (name.to_owned(), owner);
    assert_eq!(name(&strict, &plain.grants, &[]), text("grants: strict", false));
    assert_eq!(name(&plain.grants, &strict, &[]), text("ceiling: strict", true));
    assert_eq!(name(&strict, &strict, &[spare]), text("ceiling: strict", true));
    assert!(Profile::Strict.capabilities() == Profile::Operator.capabilities());
}
