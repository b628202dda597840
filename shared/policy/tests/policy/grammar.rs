//! Invalid policies, each reported at its place.

use orion_policy::{Labels, PolicyFile};
use proptest::prelude::*;
use rstest::rstest;

use crate::{codes, findings, valid};

#[rstest]
#[case::version("version: 2", "1:10 !bad-value")]
#[case::unknown_key("version: 1\ndevice: {}", "2:1 !unknown-key")]
#[case::timezone("timezone: Mars/Base", "1:11 !bad-value")]
#[case::risk_word("risk: { low: sometimes }", "1:14 !bad-value")]
#[case::risk_of_high("risk: { high: allow }", "1:15 !bad-value")]
#[case::high_looser("risk: { medium: deny, high: ask }", "1:7 !contradiction")]
#[case::critical_looser("risk: { high: deny, critical: ask }", "1:7 !contradiction")]
#[case::notice_of_high("risk: { high: notify }", "1:15 !bad-value")]
#[case::no_budget("approval_budget: { approvals: 30 }", "1:18 !missing")]
#[case::budget_of_nothing("approval_budget: { approvals: 0, per: 1h }", "1:31 !bad-value")]
#[case::budget_period("approval_budget: { approvals: 3, per: soon }", "1:39 !bad-value")]
#[case::risk_looser("risk: { low: ask, medium: allow }", "1:7 !contradiction")]
#[case::no_table("devices: [a]", "1:10 !wrong-type")]
#[case::no_list("rules: {a: b}", "1:8 !wrong-type")]
#[case::device_name("devices: { UP: {} }", "1:12 !bad-value")]
#[case::profile("devices: { a: { profile: operater } }", "1:26 !unknown-profile")]
#[case::built_in("profiles: { reader: {} }", "1:13 !bad-value")]
#[case::base(
    "profiles: { p: { profile: q } }\ndevices: { a: { profile: p } }",
    "1:27 !unknown-profile"
)]
#[case::unused("profiles: { p: { profile: reader } }", "1:13 unused")]
#[case::tool("devices: { a: { tools: [create_directry] } }", "1:25 !unknown-tool")]
#[case::tool_entry("devices: { a: { tools: [{ enabled: false }] } }", "1:25 !missing")]
#[case::tool_switch("devices: { a: { tools: { open_app: maybe } } }", "1:36 !wrong-type")]
#[case::capability("devices: { a: { capabilities: [file_writ] } }", "1:32 !bad-value")]
#[case::access("devices: { a: { paths: [{ path: /srv, access: [run] }] } }", "1:48 !bad-value")]
#[case::no_access("devices: { a: { paths: [{ path: /srv, access: [] }] } }", "1:47 !bad-value")]
#[case::no_access_said("devices: { a: { paths: [{ path: /srv }] } }", "1:25 !missing")]
#[case::no_path("devices: { a: { paths: [{ access: [read] }] } }", "1:25 !missing")]
#[case::bare_home("devices: { a: { paths: [~] } }", "1:25 !wrong-type")]
#[case::wildcard("devices: { a: { paths: [\"/srv/**\"] } }", "1:25 !bad-path")]
#[case::both_forms("devices: { a: { tools: [], allowed_tools: [] } }", "1:28 !duplicate-key")]
#[case::services("devices: { a: { services: [\"--all\"] } }", "1:28 !bad-value")]
#[case::two_services(
    "devices: { a: { services: [{ unit: a, container: b }] } }",
    "1:28 !bad-value"
)]
#[case::no_service("devices: { a: { services: [{ read_only: true }] } }", "1:28 !bad-value")]
#[case::commands("devices: { a: { commands: [bash] } }", "1:28 !bad-value")]
#[case::commands_by_their_other_name(
    "devices: { a: { allowed_commands: [{ args: [a] }] } }",
    "1:36 !missing"
)]
#[case::host("devices: { a: { hosts: [\"https://example.com\"] } }", "1:25 !bad-value")]
#[case::read_only("devices: { a: { read_only: yes } }", "1:28 !wrong-type")]
#[case::label("devices: { a: { labels: { env: \"a b\" } } }", "1:32 !bad-value")]
fn what_is_wrong_is_told_at_its_place(#[case] text: &str, #[case] first: &str) {
    assert_eq!(codes(text).first().map(String::as_str), Some(first), "{:?}", findings(text));
}

#[rstest]
#[case::nothing_done("{ tool: open_app }", "1:10 !missing")]
#[case::would_of_another("{ action: deny, would: ask }", "1:33 !contradiction")]
#[case::would_what("{ action: log, would: allow }", "1:32 !bad-value")]
#[case::notifies_and_asks("{ action: notify, require_approval: true }", "1:10 !contradiction")]
#[case::argument_of_no_tool("{ action: deny, arguments: { path: x } }", "1:37 !missing")]
#[case::unknown_argument(
    "{ tool: write_file, action: deny, arguments: { contents: x } }",
    "1:57 !unknown-argument"
)]
#[case::argument_of_one_tool(
    "{ tools: [write_file, delete_file], action: deny, arguments: { content: x } }",
    "1:73 !unknown-argument"
)]
#[case::flag_in_quotes(
    "{ tool: delete_directory, action: deny, arguments: { recursive: \"true\" } }",
    "1:74 !wrong-type"
)]
#[case::flag_above(
    "{ tool: delete_directory, action: deny, arguments: { recursive: { above: 1 } } }",
    "1:83 !wrong-type"
)]
#[case::two_tests(
    "{ tool: write_file, action: deny, arguments: { content: { not: a, matches: b } } }",
    "1:66 !bad-value"
)]
#[case::no_test(
    "{ tool: write_file, action: deny, arguments: { content: { is: a } } }",
    "1:68 !unknown-key"
)]
#[case::action("{ action: reject }", "1:20 !bad-value")]
#[case::id("{ id: \"My rule\", action: deny }", "1:16 !bad-value")]
#[case::tool("{ tools: [shel], action: deny }", "1:20 !unknown-tool")]
#[case::no_tools("{ tools: [], action: deny }", "1:19 !bad-value")]
#[case::user("{ users: [Ann], action: deny }", "1:20 !bad-value")]
#[case::role("{ roles: [root], action: deny }", "1:20 !bad-value")]
#[case::selector("{ devices: \"label:prod\", action: deny }", "1:21 !bad-value")]
#[case::group("{ devices: \"group:\", action: deny }", "1:21 !bad-value")]
#[case::hours("{ hours: { from: \"7:00\", to: \"09:00\" }, action: deny }", "1:27 !bad-value")]
#[case::no_end("{ hours: { from: \"07:00\" }, action: deny }", "1:19 !missing")]
#[case::no_hours(
    "{ hours: { from: \"07:00\", to: \"07:00\" }, action: deny }",
    "1:19 !never-matches"
)]
#[case::day(
    "{ hours: { from: \"07:00\", to: \"09:00\", days: [workday] }, action: deny }",
    "1:56 !bad-value"
)]
#[case::limit("{ limit: { calls: 3, per: fortnight }, action: deny }", "1:19 !missing")]
#[case::above("{ above: {}, action: deny }", "1:19 !missing")]
#[case::size("{ above: { bytes: much }, action: deny }", "1:19 !missing")]
#[case::expires("{ expires: 2026-12-31, action: deny }", "1:21 !bad-value")]
#[case::deny_and_ask("{ action: deny, require_approval: true }", "1:10 !contradiction")]
#[case::deny_and_preview("{ action: deny, dry_run_first: true }", "1:10 !contradiction")]
#[case::ask_and_not("{ action: ask, require_approval: false }", "1:10 !contradiction")]
#[case::preview_and_not("{ action: dry_run_first, dry_run_first: false }", "1:10 !contradiction")]
#[case::provenance("{ action: deny, ignore_provenance: true }", "1:10 !contradiction")]
#[case::approvers_of_nothing("{ action: deny, approvers: { role: admin } }", "1:37 !contradiction")]
#[case::viewer_approves("{ action: ask, approvers: { role: viewer } }", "1:44 !bad-value")]
#[case::nobody_approves("{ action: ask, approvers: { count: 0 } }", "1:45 !bad-value")]
#[case::examples("{ action: deny, examples: [a] }", "1:36 !wrong-type")]
#[case::unknown("{ action: deny, when: always }", "1:26 !unknown-key")]
fn a_rule_that_says_something_else_is_told_at_its_place(#[case] rule: &str, #[case] first: &str) {
    let text = format!("rules: [ {rule} ]");
    let reported = codes(&text);
    assert!(reported.iter().any(|code| code == first), "{:?}", findings(&text));
}

#[test]
fn everything_is_told_at_once_with_what_to_do_instead() {
    let text = "\
version: 1
timezone: Europe/Berlin
devices:
  laptop-123:
    profil: operator
    tools: [create_directry, mkfs, open_app]
    paths: [{ path: ~/Projects, acces: [read] }]
rules:
  - id: a
    tools: [delete_directory]
    devices: laptop-124
    action: ask
    aprovers: { role: admin }
  - id: a
    action: dney
";
    let reported: Vec<_> = findings(text).iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(reported.join("\n"), @r#"
    policy.yaml:5:5: error[unknown-key]: `profil` is no key of a device. Did you mean `profile`?
    policy.yaml:6:13: error[unknown-tool]: There is no tool `create_directry`. Did you mean `create_directory`?
    policy.yaml:6:30: error[unknown-tool]: There is no tool `mkfs`. `orion tools list` shows those there are.
    policy.yaml:7:13: error[missing]: This entry says no access. Write access: [read] in it, or more.
    policy.yaml:7:33: error[unknown-key]: `acces` is no key of a path. Did you mean `access`?
    policy.yaml:13:5: error[unknown-key]: `aprovers` is no key of a rule. Did you mean `approvers`?
    policy.yaml:14:5: error[duplicate-id]: The rule in line 9 is called `a` too. Denials and records name rules by their ids; each has its own.
    policy.yaml:15:13: error[bad-value]: An action is one of deny, ask, dry_run_first, allow, notify, log, and not `dney`. Did you mean `deny`?
    "#);
}

#[test]
fn keys_of_either_form_say_the_same() {
    let long = "devices: { a: { tools: [open_app], paths: [/srv], apps: [code], capabilities: [app_control] } }";
    let short = "devices: { a: { allowed_tools: [open_app], allowed_paths: [/srv], allowed_apps: [code], permissions: [app_control] } }";
    let name = "a".parse().unwrap();
    assert_eq!(
        valid(long).compile(&name, &Labels::default()),
        valid(short).compile(&name, &Labels::default())
    );
    let one = "rules: [{ id: r, tool: open_app, device: a, user: ann, role: admin, path: /srv, action: deny }]";
    let many = "rules: [{ id: r, tools: [open_app], devices: [a], users: [ann], roles: [admin], paths: [/srv], action: deny }]";
    assert_eq!(
        valid(one).rules_for(&name, &Labels::default()),
        valid(many).rules_for(&name, &Labels::default())
    );
}

#[test]
fn a_file_of_nothing_but_mistakes_is_told_in_a_bounded_way() {
    let rules = |count| format!("rules:\n{}", "  - { action: never, x: y }\n".repeat(count));
    assert_eq!(findings(&rules(1000)).len(), 200);
    assert_eq!(codes(&rules(1001)), ["2:3 !too-large"]);
}

proptest! {
    #[test]
    fn no_text_upsets_the_reader(text in "(version|rules|devices|tools|action|deny|hours|[-:{}\\[\\],\"\n ~a]){0,40}") {
        let (policy, findings) = PolicyFile::parse(&text, "p.yaml");
        prop_assert!(policy.is_some() || !findings.is_empty());
    }
}

#[test]
fn a_file_says_no_more_than_can_be_compared() {
    let list = |count: usize, item: &str| vec![item; count].join(", ");
    let rules = |count: usize, each: usize| {
        let paths: Vec<_> = (0..each).map(|number| format!("/srv/{number}")).collect();
        let rule = format!("{{ tool: read_file, paths: [{}], action: deny }}", paths.join(", "));
        format!("rules: [{}]", list(count, &rule))
    };
    for text in [
        format!("rules: [{{ users: [{}], action: deny }}]", list(201, "ann")),
        format!("rules: [{{ tools: [{}], action: deny }}]", list(201, "read_file")),
        rules(1, 201),
        rules(26, 200),
        format!("devices: {{ a: {{ paths: [{}] }} }}", list(1_001, "/srv")),
        format!("profiles: {{ p: {{ deny_paths: [{}] }} }}", list(1_001, "/srv")),
        format!("devices: {{ a: {{ apps: [{}] }} }}", list(10_001, "code")),
    ] {
        let reported = codes(&text);
        assert!(reported.iter().any(|code| code.ends_with("!too-large")), "{reported:?}");
    }
    assert_eq!(codes(&rules(1, 200)), Vec::<String>::new());
}

#[test]
fn a_table_of_many_keys_is_read_in_no_time() {
    let keys: Vec<_> = (0..9_999).map(|key| format!("k{key}: x")).collect();
    let reported = codes(&format!("labels: {{ {}, k0: y }}", keys.join(", ")));
    assert!(reported.iter().any(|code| code.ends_with("!duplicate-key")), "{reported:?}");
    let more: Vec<_> = (0..150_000).map(|key| format!("a{key}: ")).collect();
    let reported = codes(&format!("{{{}}}", more.join(",")));
    assert_eq!(reported, ["1:1 !too-large"]);
}
