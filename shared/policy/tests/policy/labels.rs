//! Labels that are stored with devices: they count where the file gives a device none, and what the file says of a
//! label is checked without them.

use orion_policy::{Labels, LintContext, PolicyFile, Severity, check};
use rstest::rstest;

use crate::{code, valid};

const FILE: &str = "\
version: 1
devices:
  web-1: { profile: operator, paths: [/srv], labels: { env: prod } }
  bare: { profile: operator, paths: [/srv] }
  none: { profile: operator, paths: [/srv], labels: {} }
rules:
  - { id: prod, tool: delete_file, devices: \"label:env=prod\", action: deny }
  - { id: lab, tool: delete_file, devices: \"label:env=lab\", paths: [/srv/tmp], action: allow }
  - { id: laptops, tool: delete_file, devices: \"group:laptops\", action: ask }
";

fn labels(pairs: &[&str]) -> Labels {
    Labels::parse(&pairs.iter().map(|&pair| pair.to_owned()).collect::<Vec<_>>()).unwrap()
}

fn rules(policy: &PolicyFile, device: &str, stored: &[&str]) -> Vec<String> {
    let rules = policy.rules_for(&device.parse().unwrap(), &labels(stored));
    rules.into_iter().map(|rule| rule.id).collect()
}

#[rstest]
#[case::only_stored("other", &["env=lab", "group=laptops"], &["lab", "laptops"])]
#[case::without_labels("other", &[], &[])]
#[case::another_value("other", &["env=labs", "group=prod"], &[])]
#[case::named_without_labels("bare", &["env=lab"], &["lab"])]
#[case::the_file_wins("web-1", &["env=lab"], &["prod"])]
#[case::as_a_whole("web-1", &["group=laptops"], &["prod"])]
#[case::none_is_none("none", &["env=lab", "group=laptops"], &[])]
fn stored_labels_count_where_the_file_gives_none(
    #[case] device: &str,
    #[case] stored: &[&str],
    #[case] expected: &[&str],
) {
    let policy = valid(FILE);
    assert_eq!(rules(&policy, device, stored), expected);
    if let Some(compiled) = policy.compile(&device.parse().unwrap(), &labels(stored)) {
        let ids: Vec<_> = compiled.rules.iter().map(|rule| rule.id.as_str()).collect();
        assert_eq!(ids, expected);
        let own = policy.labels(&device.parse().unwrap());
        assert_eq!(&compiled.labels, own.unwrap_or(&labels(stored)));
    }
}

#[test]
fn the_names_of_a_file_are_those_that_it_grants_or_rules() {
    let policy = valid(
        "devices: { a: { profile: reader } }\nrules: [{ tool: read_file, devices: [b, \"label:x=y\"], action: ask }]",
    );
    let names: Vec<_> = policy.names().map(|name| name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
}

/// Returns the findings of a rule where the fleet is known, with these stored labels.
fn known(rule: &str, stored: &[&str]) -> Vec<String> {
    let file = format!(
        "devices: {{ web-1: {{ profile: reader, labels: {{ env: prod }} }} }}\nrules: [{{ {rule} }}]"
    );
    let devices = Some([("web-1".parse().unwrap(), None)].into());
    let environment =
        LintContext { devices, labels: vec![labels(stored)], ..LintContext::default() };
    let (_, findings) = check(&file, "policy.yaml", &environment);
    findings.iter().map(|it| format!("{} {}", code(it), it.hint)).collect()
}

#[test]
fn a_label_that_no_device_has_is_an_error_where_the_fleet_is_known() {
    let rule = "tool: delete_file, devices: \"label:env=lab\", action: ask";
    assert_eq!(known(rule, &["env=lab"]), [""; 0]);
    let first =
        "2:39 !never-matches Label a device or an enrolment token first, or correct the label.";
    assert_eq!(known(rule, &[]), [first]);
    let near = "tool: delete_file, devices: \"label:env=prdo\", action: deny";
    assert_eq!(known(near, &[]), ["2:39 !never-matches Did you mean `env=prod`?"]);
}

/// What was accepted with the fleet in view is loaded again without it: nothing is denied because a label is stored
/// elsewhere.
#[test]
fn no_check_without_the_fleet_is_stricter_than_with_it() {
    let all: &[&str] = &["env=lab", "group=laptops"];
    for rule in [
        // Devices of the file with the label have no grant of the tool; others may.
        "tool: delete_file, devices: \"label:env=prod\", action: ask",
        "tool: read_file, devices: \"label:env=prod\", paths: [/home], action: ask",
        "tool: delete_file, devices: \"label:env=lab\", action: ask",
        "tool: delete_file, devices: \"label:env=lab\", action: ask, examples: { match: [\"delete_file path=/x device=other\"] }",
        "tool: delete_file, devices: \"label:env=lab\", action: ask, examples: { not_match: [\"delete_file path=/x device=other\"] }",
        "tool: delete_file, devices: \"label:env=lab\", action: ask }, { tool: delete_file, devices: web-1, action: deny",
        "tool: delete_file, devices: web-1, action: deny }, { tool: delete_file, devices: \"label:env=prod\", action: ask",
    ] {
        let with: Vec<_> = known(rule, all).into_iter().filter(|it| it.contains('!')).collect();
        assert_eq!(with, [""; 0], "{rule}");
        let file = format!(
            "devices: {{ web-1: {{ profile: reader, labels: {{ env: prod }} }} }}\nrules: [{{ {rule} }}]"
        );
        let (loaded, findings) = check(&file, "policy.yaml", &LintContext::default());
        let errors: Vec<_> =
            findings.iter().filter(|it| it.severity == Severity::Error).map(code).collect();
        assert!(loaded.is_some() && errors.is_empty(), "{rule}: {errors:?}");
    }
}

#[test]
fn what_is_sure_of_a_label_is_still_an_error() {
    for (rule, expected) in [
        // The file says the label of the device.
        (
            "tool: delete_file, devices: \"label:env=lab\", action: ask, examples: { match: [\"delete_file path=/x device=web-1\"] }",
            "!example-fails",
        ),
        // Another tool is another call, whatever the labels.
        (
            "tool: delete_file, devices: \"label:env=lab\", action: ask, examples: { match: [\"read_file path=/x device=other\"] }",
            "!example-fails",
        ),
        // Each device with the label is denied first, whichever has it.
        (
            "tool: delete_file, devices: \"label:env=lab\", action: deny }, { tool: delete_file, devices: \"label:env=lab\", action: ask",
            "!shadowed",
        ),
    ] {
        let found = known(rule, &["env=lab"]);
        assert!(found.iter().any(|it| it.contains(expected)), "{rule}: {found:?}");
    }
}
