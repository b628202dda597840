//! The compiled policy of each device.

use orion_domain::evaluate::{Decision, RiskDefaults};
use orion_domain::rule::{Approvers, Hours, Quantity, Rate, RuleAction};
use orion_domain::{Grants, Risk, Role, Rule};
use orion_policy::{Labels, PolicyFile};
use serde_json::json;

use crate::valid;

fn grants(policy: &PolicyFile, device: &str) -> Grants {
    policy.compile(&device.parse().unwrap(), &Labels::default()).unwrap().grants
}

fn ids(policy: &PolicyFile, device: &str) -> Vec<String> {
    policy
        .rules_for(&device.parse().unwrap(), &Labels::default())
        .into_iter()
        .map(|rule| rule.id)
        .collect()
}

#[test]
fn a_device_adjusts_its_profile_list_by_list_and_denies_add_up() {
    let policy = valid(
        r#"
profiles:
  laptop:
    profile: operator
    tools: [read_file, { name: open_app, enabled: false }]
    paths: ["~/Projects", { path: ~/Downloads, access: read }]
    deny_paths: ["~/Projects/secret"]
    apps: [chrome, code]
    hosts: ["api.example.com:443"]
    read_only: true
devices:
  a: { profile: laptop }
  b:
    profile: laptop
    paths: [/srv]
    deny_paths: [/srv/keys]
    apps: []
    read_only: false
  c: { tools: { read_file: true, copy_path: { enabled: false } }, capabilities: [file_read] }
  d: { profile: strict }
"#,
    );
    let laptop = json!({
        "profile": "operator",
        "tools": ["read_file"],
        "paths": ["~/Projects", {"path": "~/Downloads", "access": ["read"]}],
        "deny_paths": ["~/Projects/secret"],
        "apps": ["chrome", "code"],
        "hosts": ["api.example.com:443"],
        "read_only": true,
    });
    assert_eq!(grants(&policy, "a"), serde_json::from_value(laptop.clone()).unwrap());
    let mut adjusted = laptop;
    adjusted["paths"] = json!(["/srv"]);
    adjusted["deny_paths"] = json!(["~/Projects/secret", "/srv/keys"]);
    adjusted["apps"] = json!([]);
    adjusted["read_only"] = json!(false);
    assert_eq!(grants(&policy, "b"), serde_json::from_value(adjusted).unwrap());
    let own = json!({"tools": ["read_file"], "capabilities": ["file_read"]});
    assert_eq!(grants(&policy, "c"), serde_json::from_value(own).unwrap());
    assert_eq!(grants(&policy, "d"), serde_json::from_value(json!({"profile": "strict"})).unwrap());
    assert_eq!(policy.compile(&"e".parse().unwrap(), &Labels::default()), None);
}

#[test]
fn rules_go_to_the_devices_that_they_select() {
    let policy = valid(
        r#"
devices:
  laptop-1: { profile: operator, labels: { group: laptops } }
  laptop-2: { profile: operator, labels: { group: laptops, env: prod } }
  web-1: { profile: operator, labels: { env: prod } }
rules:
  - { id: everywhere, tool: delete_file, users: [ann], action: deny }
  - { id: all, tool: delete_file, users: [bob], devices: all, action: deny }
  - { id: one, tool: open_app, devices: web-1, action: ask }
  - { id: prod, tool: open_app, users: [ann], devices: "label:env=prod", action: ask }
  - { id: laptops, tool: open_app, users: [bob], devices: "group:laptops", action: ask }
  - { id: both, tool: copy_path, devices: ["group:laptops", web-1], action: ask }
  - { id: unknown, tool: copy_path, devices: kiosk, action: ask }
"#,
    );
    assert_eq!(ids(&policy, "laptop-1"), ["everywhere", "all", "laptops", "both"]);
    assert_eq!(ids(&policy, "laptop-2"), ["everywhere", "all", "prod", "laptops", "both"]);
    assert_eq!(ids(&policy, "web-1"), ["everywhere", "all", "one", "prod", "both"]);
    assert_eq!(ids(&policy, "kiosk"), ["everywhere", "all", "unknown"]);
    assert_eq!(ids(&policy, "other"), ["everywhere", "all"]);
    let web = policy.compile(&"web-1".parse().unwrap(), &Labels::default()).unwrap();
    assert_eq!(web.labels, Labels::parse(&["env=prod".to_owned()]).unwrap());
    assert_eq!(web.rules, policy.rules_for(&"web-1".parse().unwrap(), &Labels::default()));
}

#[test]
fn a_rule_says_what_is_written_with_its_place() {
    let policy = valid(
        r#"version: 1
timezone: Europe/Berlin
risk: { low: dry_run_first, medium: ask }
rules:
  - id: prod-deletes
    tools: [delete_directory, delete_file]
    users: [ann, bob]
    roles: [operator]
    paths: ["/srv/www", "**/*.db"]
    hours: { from: "22:00", to: "07:00", days: [sun, friday, sun] }
    limit: { calls: 3, per: 10m }
    above: { entries: 100, bytes: 2GiB }
    expires: 2026-07-01T12:00
    action: ask
    dry_run_first: true
    approvers: { role: admin, count: 2, not_requester: true, reason: required, passkey: required }
    because: "A second pair of eyes."
"#,
    );
    let expected = Rule {
        tools: vec!["delete_directory".to_owned(), "delete_file".to_owned()],
        users: vec!["ann".parse().unwrap(), "bob".parse().unwrap()],
        roles: vec![Role::Operator],
        paths: vec!["/srv/www".to_owned(), "**/*.db".to_owned()],
        hours: Some(Hours { from: 1320, to: 420, days: vec![4, 6] }),
        limit: Some(Rate { calls: 3, per_seconds: 600 }),
        above: Some(Quantity { entries: Some(100), bytes: Some(2 << 30) }),
        expires_at: Some(1_782_900_000_000),
        approvers: Approvers {
            role: Role::Admin,
            count: 2,
            not_requester: true,
            reason: true,
            passkey: true,
            ..Approvers::default()
        },
        dry_run_first: true,
        because: "A second pair of eyes.".to_owned(),
        source: "policy.yaml:5".to_owned(),
        ..Rule::new("prod-deletes", RuleAction::Ask)
    };
    assert_eq!(policy.rules_for(&"any".parse().unwrap(), &Labels::default()), [expected]);
    assert_eq!(policy.timezone(), "Europe/Berlin");
    assert_eq!(policy.risk(), RiskDefaults::new(Decision::DryRunFirst, Decision::Ask));
}

#[test]
fn approvals_of_a_risk_are_signed_and_those_of_a_higher_one_too() {
    let of = |risk: &str| {
        let policy = valid(&format!("risk: {{ {risk} }}"));
        (policy.risk().signs(Risk::High), policy.risk().signs(Risk::Critical))
    };
    assert_eq!(of("high: ask_passkey"), (true, true));
    assert_eq!(of("critical: ask_passkey"), (false, true));
    assert_eq!(of("high: ask"), (false, false));
    let looser = "risk: { high: ask_passkey, critical: ask }";
    assert_eq!(crate::codes(looser), ["1:7 !contradiction"]);
}

#[test]
fn the_short_form_means_what_it_says() {
    let policy = valid(
        "
rules:
  - { tool: delete_file, action: deny }
  - { tool: copy_path, action: allow, require_approval: true }
  - { tool: move_path, action: allow, require_approval: true, dry_run_first: true }
  - { tool: edit_file, action: allow, dry_run_first: true }
  - { tool: write_file, action: dry_run_first }
  - { tool: open_app, require_approval: true }
  - { tool: undo_call, action: dry_run_first, require_approval: true }
  - { tool: delete_directory, device: a, action: allow, require_approval: false }
  - { tool: delete_directory, device: b, require_approval: false, ignore_provenance: true }
  - { tool: analyze_disk, action: allow, require_approval: false }
",
    );
    let says: Vec<_> = ["a", "b"]
        .iter()
        .flat_map(|device| policy.rules_for(&device.parse().unwrap(), &Labels::default()))
        .map(|rule| (rule.id, rule.action, rule.dry_run_first, rule.ignore_provenance))
        .collect();
    let all = |last: (&str, bool)| {
        [
            ("deny-delete_file", RuleAction::Deny, false, false),
            ("ask-copy_path", RuleAction::Ask, false, false),
            ("ask-move_path", RuleAction::Ask, true, false),
            ("preview-edit_file", RuleAction::DryRunFirst, false, false),
            ("preview-write_file", RuleAction::DryRunFirst, false, false),
            ("ask-open_app", RuleAction::Ask, false, false),
            ("ask-undo_call", RuleAction::Ask, true, false),
            (last.0, RuleAction::Preapprove, false, last.1),
        ]
        .map(|(id, action, preview, ignores)| (id.to_owned(), action, preview, ignores))
        .to_vec()
    };
    // The last rule would change nothing, and is left out.
    let expected =
        [all(("allow-delete_directory", false)), all(("allow-delete_directory-2", true))];
    assert_eq!(says, expected.concat());
}
