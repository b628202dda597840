//! Lint findings, each with its rule and line.

use std::collections::BTreeMap;

use orion_domain::{PathStyle, Places, Role};
use orion_policy::{Code, Facts, Labels, LintContext, check};
use rstest::rstest;

use crate::{code, codes, findings};

/// Two laptops and a server; the rules under test begin in line 9.
const FLEET: &str = "\
version: 1
profiles:
  laptop: { profile: operator, paths: [\"~/Projects\"], apps: [code] }
devices:
  laptop-1: { profile: laptop, labels: { group: laptops } }
  laptop-2: { profile: laptop, labels: { group: laptops }, tools: [read_file, list_directory] }
  web-1: { profile: reader, labels: { env: prod }, paths: [/srv/www, /etc/nginx] }
rules:
";

fn fleet(rules: &[&str]) -> Vec<String> {
    let lines: Vec<_> = rules.iter().map(|rule| format!("  - {{ {rule} }}\n")).collect();
    codes(&format!("{FLEET}{}", lines.concat()))
}

#[rstest]
#[case::fits("tool: delete_file, devices: laptop-1, action: ask", &[])]
#[case::no_such_device("tool: delete_file, devices: laptop-9, action: ask", &["9:35 unknown-device"])]
#[case::no_such_label("tool: delete_file, devices: \"label:env=test\", action: ask", &["9:35 never-matches"])]
#[case::not_granted("tool: delete_file, devices: web-1, action: ask", &["9:5 !never-matches"])]
#[case::not_granted_to_one_of_two("tool: delete_file, devices: \"group:laptops\", action: ask", &[])]
#[case::a_second_fence("tool: delete_file, devices: web-1, action: deny", &["9:5 never-matches"])]
#[case::may_be_elsewhere("tool: delete_file, action: ask", &[])]
#[case::outside("tool: read_file, devices: web-1, paths: [/home], action: ask", &["9:5 !never-matches"])]
#[case::beneath("tool: read_file, devices: web-1, paths: [/srv/www/private], action: ask", &[])]
#[case::around("tool: read_file, devices: web-1, paths: [/srv], action: ask", &[])]
#[case::floating("tool: read_file, devices: web-1, paths: [\"**/*.key\"], action: ask", &[])]
#[case::unreadable("tool: read_file, devices: web-1, paths: [\"~bob/x\"], action: deny", &["9:48 !bad-path"])]
#[case::no_tool("devices: laptop-1, action: allow", &["9:5 !unscoped"])]
#[case::no_scope("tool: delete_file, action: allow", &["9:5 !unscoped"])]
#[case::no_scope_and_no_effect("tool: read_file, action: allow", &["9:5 without-effect"])]
#[case::paths_are_scope("tool: delete_file, paths: [\"~/Projects/tmp\"], action: allow", &[])]
#[case::every_path_is_no_scope("tool: delete_file, paths: [\"**\"], action: allow", &["9:5 !unscoped", "9:34 too-wide"])]
#[case::the_disk_is_no_scope("tool: delete_file, paths: [\"~/Projects/tmp\", \"/**\"], action: allow", &["9:5 !unscoped", "9:52 too-wide"])]
#[case::a_drive_is_no_scope("tool: delete_file, paths: [\"D:/\"], action: allow", &["9:5 !unscoped"])]
#[case::users_are_scope("tool: delete_file, users: [ann], action: allow", &[])]
#[case::every_path("tool: delete_file, devices: laptop-1, paths: [\"**\"], action: allow", &["9:53 too-wide"])]
#[case::whole_home("tool: delete_file, devices: laptop-1, paths: [\"~\"], action: allow", &["9:53 too-wide"])]
#[case::whole_home_by_stars("tool: delete_file, devices: laptop-1, paths: [\"~/**\"], action: allow", &["9:53 too-wide"])]
#[case::wide_denies_are_fine("tool: delete_file, devices: laptop-1, paths: [\"~\"], action: deny", &[])]
#[case::alias("tool: create_folder, action: ask", &["9:13 !unknown-tool"])]
fn a_rule_that_cannot_be_meant_is_told(#[case] rule: &str, #[case] expected: &[&str]) {
    assert_eq!(fleet(&[rule]), expected, "{rule}");
}

#[rstest]
#[case::denied_later("tool: delete_file, action: ask", "tools: [delete_file, delete_directory], action: deny", &["9:5 !shadowed"])]
#[case::denied_earlier("action: deny", "tool: delete_file, devices: laptop-1, action: allow", &["10:5 !shadowed"])]
#[case::denied_for_a_role_only("action: deny, roles: [operator]", "tool: delete_file, devices: laptop-1, action: allow", &[])]
#[case::denied_for_the_same_role("action: deny, roles: [operator]", "tool: delete_file, devices: laptop-1, roles: [operator], action: allow", &["10:5 !shadowed"])]
#[case::denied_at_night_only("action: deny, hours: { from: \"22:00\", to: \"07:00\" }", "tool: delete_file, action: ask", &[])]
#[case::denied_elsewhere("tool: delete_file, devices: laptop-2, action: deny", "tool: delete_file, devices: laptop-1, action: ask", &["9:5 never-matches"])]
#[case::denied_by_group("tool: read_file, devices: \"group:laptops\", action: deny", "tool: read_file, devices: laptop-1, action: ask", &["10:5 !shadowed"])]
#[case::denied_around("tool: delete_file, paths: [\"~/Projects\"], action: deny", "tool: delete_file, paths: [\"~/Projects/a\"], action: ask", &["10:5 !shadowed"])]
#[case::denied_beside("tool: delete_file, paths: [\"~/Projects/b\"], action: deny", "tool: delete_file, paths: [\"~/Projects/a\"], action: ask", &[])]
#[case::asked_all_the_same("tool: delete_file, action: ask", "tool: delete_file, devices: laptop-1, action: allow", &["10:5 !shadowed"])]
#[case::asked_for_more_than_this("tool: delete_file, above: { entries: 10 }, action: ask", "tool: delete_file, devices: laptop-1, action: allow", &[])]
#[case::twice_denied("tool: delete_file, action: deny", "tools: [delete_file, delete_directory], action: deny", &["9:5 shadowed"])]
#[case::twice_the_same("id: a, tool: delete_file, action: ask, because: X", "id: b, tool: delete_file, action: ask", &["10:5 !duplicate-rule"])]
#[case::same_id("id: a, tool: delete_file, action: ask", "id: a, tool: open_app, action: ask", &["10:5 !duplicate-id"])]
fn rules_that_undo_each_other_are_told(
    #[case] first: &str,
    #[case] second: &str,
    #[case] expected: &[&str],
) {
    assert_eq!(fleet(&[first, second]), expected, "{first} / {second}");
}

#[rstest]
#[case("match: [\"delete_file path=~/Projects/x device=laptop-1\"]", &[])]
#[case("match: [\"read_file path=~/Projects/x device=laptop-1\"]", &["9:110 !example-fails"])]
#[case("match: [\"delete_file path=~/x device=laptop-1\"]", &["9:110 !example-fails"])]
#[case("match: [\"delete_file path=~/Projects/x device=web-1\"]", &["9:110 !example-fails"])]
#[case("match: [\"delete_file path=~/Projects/x\"]", &[])]
#[case("match: [\"delete_file path=~/Projects/x user=bob\"]", &["9:110 !example-fails"])]
#[case("match: [\"delete_file path=~/Projects/x user=ann at='mon 08:00'\"]", &[])]
#[case("match: [\"delete_file path=~/Projects/x at='sun 08:00'\"]", &["9:110 !example-fails"])]
#[case("match: [\"delete_file path=~/Projects/x at=20:00\"]", &["9:110 !example-fails"])]
#[case("not_match: [\"delete_file path=~/Projects/x at=20:00\"]", &[])]
#[case("not_match: [\"delete_file path=~/Projects/x\"]", &["9:114 !example-fails"])]
#[case("not_match: [\"delete_fil path=~/Projects/x\"]", &["9:114 !example-unreadable"])]
#[case("match: [\"delete_file path=\\\"~/Projects/a b\\\"\"]", &[])]
#[case("match: [\"delete_file path=/srv/ann/Projects/x device=laptop-1\"]", &[])]
#[case("not_match: [\"delete_file path=/srv/ann/Projects/x device=laptop-1\"]", &[])]
#[case("match: [\"delete_file path=/srv/ann/Projects/x device=laptop-1 at=\\\"sun 12:00\\\"\"]", &["9:110 !example-fails"])]
#[case("match: [\"delete_file nonsense=1\"]", &["9:110 !example-unreadable"])]
fn examples_are_held_to(#[case] examples: &str, #[case] expected: &[&str]) {
    let hours = "hours: { from: \"07:00\", to: \"19:00\", days: [mon] }";
    let rule = format!(
        "tool: delete_file, devices: laptop-1, users: [ann], paths: [\"~/Projects\"], {hours}, action: ask, examples: {{ {examples} }}"
    );
    let reported: Vec<_> = fleet(&[&rule]);
    let plain: Vec<_> = reported.iter().map(|code| code.split_once(' ').unwrap().1).collect();
    let wanted: Vec<_> = expected.iter().map(|code| code.split_once(' ').unwrap().1).collect();
    assert_eq!(plain, wanted, "{examples}: {reported:?}");
}

#[test]
fn an_example_that_a_path_matches_at_any_home_is_held_to_it() {
    let rule = |example: &str| {
        format!(
            "tool: delete_file, devices: laptop-1, paths: [\"~/Projects\", \"/srv/**\"], action: ask, examples: {{ not_match: [\"delete_file path={example} device=laptop-1\"] }}"
        )
    };
    let sure = fleet(&[&rule("/srv/x")]);
    assert!(sure.iter().any(|code| code.ends_with("!example-fails")), "{sure:?}");
    let unsure = fleet(&[&rule("/home/ann/Projects/x")]);
    assert!(!unsure.iter().any(|code| code.contains("example")), "{unsure:?}");
}

#[rstest]
#[case("/", "the whole disk")]
#[case("~", "the whole home folder, with changes,")]
#[case("/home", "everybody's home folder")]
#[case("{ path: /, access: [read] }", "the whole disk")]
#[case("C:/", "the whole disk")]
#[case("C:/Users", "everybody's home folder")]
fn an_entry_that_lends_nearly_everything_is_told(#[case] path: &str, #[case] what: &str) {
    let path = if path.starts_with('{') { path.to_owned() } else { format!("\"{path}\"") };
    let all = findings(&format!("devices: {{ a: {{ profile: operator, paths: [{path}] }} }}"));
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].message.contains(what) && code(&all[0]).ends_with(" too-wide"), "{}", all[0]);
}

#[rstest]
#[case("{ path: \"~\", access: [read] }")]
#[case("\"~/Projects\"")]
#[case("/etc/nginx")]
#[case("\"D:/Projects\"")]
fn a_folder_is_not_told(#[case] path: &str) {
    let text = format!("devices: {{ a: {{ profile: operator, paths: [{path}] }} }}");
    assert_eq!(codes(&text), Vec::<String>::new());
}

#[test]
fn what_the_fleet_and_the_clock_say_counts_where_they_are_known() {
    let text = "\
devices:
  web-1: { profile: operator, paths: [\"D:/x\"] }
rules:
  - { id: old, tool: delete_file, devices: [web-1, web-2, web-3], expires: \"2026-01-01T00:00:00Z\", action: ask }
";
    let places = Places::parse(PathStyle::Posix, None, Some("/home/ann")).unwrap();
    let posix = Facts { places, folds_case: false, ceiling: None };
    let devices = BTreeMap::from([("web-2".parse().unwrap(), Some(posix.clone()))]);
    let reported = |devices, now_ms| -> Vec<_> {
        let environment = LintContext { devices, now_ms, ..LintContext::default() };
        check(text, "policy.yaml", &environment).1.iter().map(code).collect()
    };
    assert_eq!(reported(None, None), ["4:52 unknown-device", "4:59 unknown-device"]);
    assert_eq!(
        reported(Some(devices), Some(1_800_000_000_000)),
        ["2:3 unknown-device", "4:5 !expired", "4:59 !unknown-device"]
    );
    let devices = BTreeMap::from([("web-1".parse().unwrap(), Some(posix))]);
    let reported = reported(Some(devices), Some(0));
    assert_eq!(reported, ["2:39 !bad-path", "4:52 !unknown-device", "4:59 !unknown-device"]);
}

#[test]
fn a_rule_that_needs_more_passkeys_than_people_have_is_told() {
    let text = "\
rules:
  - id: signed
    tools: [delete_file]
    action: ask
    approvers: { role: admin, count: 2, passkey: required }
";
    let message = |holders: Option<&[Role]>| {
        let passkeys = holders.map(<[Role]>::to_vec);
        let environment = LintContext { passkeys, ..LintContext::default() };
        let (file, findings) = check(text, "policy.yaml", &environment);
        assert!(file.is_some());
        findings.iter().map(|it| format!("{} {}", code(it), it.message)).collect::<Vec<_>>()
    };
    let (admin, operator) = (Role::Admin, Role::Operator);
    let risk = "risk: { critical: ask_passkey }";
    let passkeys = Some(vec![operator]);
    let environment = LintContext { passkeys, ..LintContext::default() };
    let of_risk = check(risk, "policy.yaml", &environment).1;
    let of_risk: Vec<_> = of_risk.iter().map(|it| format!("{} {}", code(it), it.message)).collect();
    let so = "so no call that is of critical risk can be approved.";
    let nobody = format!("1:7 no-passkey Nobody with the role admin or more has a passkey, {so}");
    assert_eq!(of_risk, [nobody]);
    let so = "so no call that this rule matches can be approved.";
    assert_eq!(message(None), Vec::<String>::new());
    assert_eq!(message(Some(&[admin, operator, admin])), Vec::<String>::new());
    assert_eq!(
        message(Some(&[operator])),
        [format!("2:5 no-passkey Nobody with the role admin or more has a passkey, {so}")]
    );
    assert_eq!(
        message(Some(&[operator, admin])),
        [format!("2:5 no-passkey Only one person with the role admin or more has a passkey, {so}")]
    );
}

#[test]
fn a_warning_does_not_keep_a_file_from_loading_and_an_error_does() {
    let environment = LintContext::default();
    let loads = |text| check(text, "policy.yaml", &environment).0.is_some();
    assert!(loads("devices: { a: { profile: operator, paths: [/] } }"));
    assert!(!loads("devices: { a: { profile: operator, hosts: [x] } }"));
}

#[test]
fn a_tool_that_is_granted_where_it_does_not_run_is_reported() {
    let reported = findings(
        "devices:\n  backend: { tools: [calculate, read_file] }\n  kiosk: { tools: [read_file, calculate] }",
    );
    let messages: Vec<_> =
        reported.iter().map(|it| (it.line, it.code, it.message.as_str())).collect();
    assert_eq!(
        messages,
        [
            (
                2,
                Code::WrongTarget,
                "read_file runs on devices, so granting it on backend has no effect."
            ),
            (
                3,
                Code::WrongTarget,
                "calculate runs on the backend, so granting it on kiosk has no effect."
            ),
        ]
    );
    // The backend is there without being named.
    assert_eq!(codes("rules: [{ tools: [calculate], devices: backend, action: ask }]"), [""; 0]);
}

#[test]
fn aliases_of_tools_are_resolved_and_told() {
    let alias = orion_catalog::CATALOG
        .iter()
        .find_map(|spec| spec.aliases.first().map(|alias| (alias.name, spec.name)));
    let Some((alias, name)) = alias else { return };
    let text = format!("devices: {{ a: {{ tools: [{alias}] }} }}");
    assert_eq!(codes(&text), ["1:25 tool-alias"]);
    let policy = crate::valid(&text);
    let grants = policy.compile(&"a".parse().unwrap(), &Labels::default()).unwrap().grants;
    assert_eq!(grants.tools, Some([name.to_owned()].into()));
}

/// Returns the findings of `case` on devices of one kind, by line.
fn by_case(text: &str, style: PathStyle, folds_case: bool) -> Vec<String> {
    let home = if style == PathStyle::Windows { "C:/Users/ann" } else { "/home/ann" };
    let places = Places::parse(style, None, Some(home)).unwrap();
    let facts = Facts { places, folds_case, ceiling: None };
    let devices = ["a", "b"].map(|name| (name.parse().unwrap(), Some(facts.clone())));
    let environment = LintContext { devices: Some(devices.into()), ..LintContext::default() };
    let findings = check(text, "policy.yaml", &environment).1;
    let reported = findings.iter().filter(|finding| finding.code == Code::Case);
    reported.map(|finding| format!("{}: {}", finding.line, finding.message)).collect()
}

#[test]
fn two_entries_that_differ_in_case_alone_are_told_as_the_device_takes_them() {
    let text = "\
devices:
  a: { profile: operator, paths: [\"~/Work\", \"~/work\", \"~/other\"] }
  b: { profile: operator, paths: [\"~/Work/x\", \"~/Work/X/y\"] }
";
    let reported =
        |so: &str| vec![format!("2: `~/work` and `~/Work` on a differ in case alone, and {so}.")];
    assert_eq!(
        by_case(text, PathStyle::Posix, false),
        reported("are two folders there: what is denied and rules that tighten hold for both")
    );
    let one = reported("are one folder there: it is granted for what either says");
    assert_eq!(by_case(text, PathStyle::Posix, true), one);
    assert_eq!(by_case(text, PathStyle::Windows, true), one);
    let unknown = findings(text);
    let unknown = unknown.iter().filter(|it| it.code == Code::Case).map(|it| it.message.as_str());
    assert_eq!(
        unknown.collect::<Vec<_>>(),
        [
            "`~/work` and `~/Work` on a differ in case alone, and are two folders on Linux, and one on macOS."
        ]
    );
}

#[test]
fn what_is_lent_and_denied_by_another_spelling_is_told_on_every_kind_of_device() {
    let text = "\
profiles:
  p: { profile: operator, paths: [\"~/work/a\"], deny_paths: [\"~/Work\", \"~/WORK/**/b\"] }
devices:
  a: { profile: p }
  b: { profile: p, paths: [\"~/Work\", \"~/works\"] }
";
    let reported = [
        "2: `~/work/a` grants nothing on a: `~/Work` keeps it out, for what is denied is denied in either case.",
    ];
    assert_eq!(by_case(text, PathStyle::Posix, false), reported);
    assert_eq!(by_case(text, PathStyle::Windows, true), reported);
}

#[test]
fn a_preapproval_of_another_spelling_is_told_where_case_tells_apart() {
    let text = "\
devices:
  a: { profile: operator, paths: [\"~/work\"] }
rules:
  - { id: spare, tool: delete_file, devices: [a], paths: [\"~/Work/tmp\", \"~/work/x\"], action: allow }
";
    let reported = [
        "4: `~/Work/tmp` pre-approves nothing on a: what is granted there is `/home/ann/work`, and what allows is compared as it is written.",
    ];
    assert_eq!(by_case(text, PathStyle::Posix, false), reported);
    assert_eq!(by_case(text, PathStyle::Windows, true), [""; 0]);
}

#[test]
fn rules_whose_paths_only_case_tells_apart_are_told_where_one_of_them_tightens() {
    let rules = |one: &str, other: &str| {
        format!(
            "devices:\n  a: {{ profile: operator, paths: [\"~/work\", \"~/docs\"] }}\n  b: {{ profile: operator, paths: [\"~/work\"] }}\nrules:\n  - {{ id: one, tool: delete_file, {one} }}\n  - {{ id: other, tool: delete_file, {other} }}\n"
        )
    };
    let reported = |one: &str, other: &str| by_case(&rules(one, other), PathStyle::Posix, false);
    let both = |path: &str, before: &str, which: &str| {
        vec![format!(
            "6: `{path}` and `{before}` of one differ in case alone, which a rule that tightens does not tell apart: {which} speaks of both."
        )]
    };
    let (upper, lower) = ("paths: [\"~/work/X\"]", "paths: [\"~/work/x\"]");
    let on = |devices: &str, path: &str, action: &str| {
        format!("devices: [{devices}], {path}, action: {action}")
    };
    assert_eq!(
        reported(&on("a", upper, "deny"), &on("\"a\", \"b\"", lower, "allow")),
        both("~/work/x", "~/work/X", "one")
    );
    assert_eq!(
        reported(&format!("{upper}, action: allow"), &format!("{lower}, action: ask")),
        both("~/work/x", "~/work/X", "other")
    );
    assert_eq!(reported(&on("a", upper, "deny"), &on("b", lower, "ask")), [""; 0], "elsewhere");
    assert_eq!(reported(&on("a", upper, "allow"), &on("a", lower, "allow")), [""; 0], "both tell");
    assert_eq!(reported(&on("a", upper, "deny"), &on("a", upper, "ask")), [""; 0], "the same");
}
