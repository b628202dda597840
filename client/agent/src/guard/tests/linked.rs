//! The real place of a path, and the content of a folder, are evaluated by the whole policy.

use orion_domain::rule::{Approvers, CompiledRule};

use super::*;
use crate::roots::Roots;
use crate::tools::testing::Device;
use crate::tools::testing::Outcome;

/// `current` leads to `releases/prod`, and `scratch/out` to `keep`.
fn linked_device() -> Device {
    let device = Device::new();
    device.put("files/releases/prod/x.txt", "wanted");
    device.put("files/keep/x.txt", "kept");
    device.put("files/scratch/in/x.txt", "wanted");
    device.put("files/other/x.txt", "wanted");
    device.link("files/current", "releases/prod");
    device.link("files/scratch/out", "../keep");
    device
}

fn rule(device: &Device, action: RuleAction, tools: &[&str], paths: &[&str]) -> Rule {
    let path = |path: &&str| match path.strip_prefix("**") {
        Some(_) => (*path).to_owned(),
        None => device.text(path),
    };
    Rule {
        tools: tools.iter().map(|&tool| tool.to_owned()).collect(),
        paths: paths.iter().map(path).collect(),
        ..Rule::new("r1", action)
    }
}

/// Admits the call, with an approval if there is one, and runs it where its paths lead.
fn run(
    device: &mut Device,
    rules: &[Rule],
    (tool, arguments): (&str, Value),
    is_approved: bool,
) -> Result<Outcome, ToolError> {
    let granted = grants(&[&device.text("files")]);
    let policy = DevicePolicy { grants: granted.clone(), rules: rules.to_vec(), ..policy() };
    let guard = guard_with(&granted, &policy);
    let asked = call(tool, arguments.clone());
    let asked = if is_approved { approved(&guard, asked) } else { asked };
    let admitted = guard.admit(&asked, |_| false).map_err(|error| *error)?;
    let Policy { ceiling, grants, rules, .. } = guard.policy();
    let named: Vec<_> = rules.iter().flat_map(CompiledRule::roots).cloned().collect();
    let roots = Roots::open_named(ceiling.as_ref().unwrap(), grants, &[], &named);
    device.roots = roots.of_call(admitted.verdict);
    device.call(tool, arguments)
}

fn write(device: &Device, path: &str) -> (&'static str, Value) {
    ("write_file", json!({"path": device.text(path), "content": "new"}))
}

fn remove(device: &Device, path: &str) -> (&'static str, Value) {
    let path = device.text(path);
    ("delete_directory", json!({"path": path, "recursive": true, "confirm": true}))
}

fn erase(device: &Device, path: &str) -> (&'static str, Value) {
    ("delete_file", json!({"path": device.text(path), "confirm": true}))
}

#[test]
fn a_link_does_not_lead_around_a_rule_that_denies() {
    let mut device = linked_device();
    let deny = [rule(&device, RuleAction::Deny, &["write_file"], &["files/releases/prod"])];
    let through = write(&device, "files/current/new.txt");
    let error = run(&mut device, &deny, through, false).unwrap_err();
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    assert!(error.message.contains("current/new.txt leads to"), "{error}");
    assert_eq!(error.details["real_path"], device.text("files/releases/prod/new.txt"));
    assert!(!device.at("files/releases/prod/new.txt").exists());
    let beside = write(&device, "files/scratch/out/new.txt");
    assert!(run(&mut device, &deny, beside, false).is_ok());
}

#[test]
fn a_link_does_not_lead_around_a_rule_that_asks_though_somebody_said_yes() {
    let mut device = linked_device();
    let asks = [rule(&device, RuleAction::Ask, &["write_file"], &["files/releases"])];
    for is_approved in [false, true] {
        let through = write(&device, "files/current/new.txt");
        let error = run(&mut device, &asks, through, is_approved).unwrap_err();
        assert_eq!(error.code, ErrorCode::PathNotAllowed, "{error}");
    }
    let itself = write(&device, "files/releases/prod/new.txt");
    assert!(run(&mut device, &asks, itself, true).is_ok());
}

#[test]
fn a_link_does_not_lead_from_one_persons_yes_to_where_two_are_wanted() {
    let mut device = linked_device();
    let asks = rule(&device, RuleAction::Ask, &["delete_file"], &["files/releases"]);
    let two = Rule { approvers: Approvers { count: 2, ..Approvers::default() }, ..asks.clone() };
    let through = erase(&device, "files/current/x.txt");
    let error = run(&mut device, &[two], through.clone(), true).unwrap_err();
    assert_eq!(error.code, ErrorCode::PathNotAllowed, "{error}");
    assert!(run(&mut device, &[asks], through, true).is_ok());
}

#[test]
fn a_pre_approval_holds_where_a_link_leads_only_if_it_names_that_place() {
    let mut device = linked_device();
    let spare = [rule(&device, RuleAction::Preapprove, &["delete_file"], &["files/scratch"])];
    let through = erase(&device, "files/scratch/out/x.txt");
    let error = run(&mut device, &spare, through, false).unwrap_err();
    assert_eq!(error.code, ErrorCode::PathNotAllowed, "{error}");
    assert!(device.at("files/keep/x.txt").exists());
    let inside = erase(&device, "files/scratch/in/x.txt");
    assert!(run(&mut device, &spare, inside, false).is_ok());
}

#[test]
fn a_rule_that_names_a_link_speaks_of_where_it_leads() {
    let mut device = linked_device();
    let deny = [rule(&device, RuleAction::Deny, &["write_file"], &["files/current"])];
    let itself = write(&device, "files/releases/prod/new.txt");
    let error = run(&mut device, &deny, itself, false).unwrap_err();
    assert_eq!(error.code, ErrorCode::PathNotAllowed, "{error}");
    let beside = write(&device, "files/releases/new.txt");
    assert!(run(&mut device, &deny, beside, false).is_ok());
}

#[test]
fn a_folder_does_not_go_with_what_a_rule_speaks_of_in_it() {
    let mut device = linked_device();
    for action in [RuleAction::Deny, RuleAction::Ask] {
        let floats = [rule(&device, action, &["delete_directory"], &["**/prod"])];
        let around = remove(&device, "files/releases");
        let error = run(&mut device, &floats, around, true).unwrap_err();
        assert_eq!(error.code, ErrorCode::PathNotAllowed, "{error}");
        assert!(error.message.contains("contains something that is denied"), "{error}");
    }
    let wild = [rule(&device, RuleAction::Deny, &["delete_directory"], &["files/*/prod"])];
    let around = remove(&device, "files/releases");
    let error = run(&mut device, &wild, around, true).unwrap_err();
    assert_eq!(error.code, ErrorCode::PermissionDenied, "{error}");
    device.folder("files/other/deeper");
    let beside = remove(&device, "files/other/deeper");
    assert!(run(&mut device, &wild, beside, true).is_ok());
}

#[test]
fn what_a_rule_denies_is_not_found_by_a_search_around_it() {
    let mut device = linked_device();
    let found = |device: &mut Device, rules: &[Rule]| {
        let search = json!({"path": device.text("files"), "pattern": "wanted"});
        let outcome = run(device, rules, ("search_text", search), false).unwrap();
        outcome.data["matches"].as_array().unwrap().len()
    };
    assert_eq!(found(&mut device, &[]), 3);
    let floats = [rule(&device, RuleAction::Deny, &["search_text"], &["**/prod"])];
    assert_eq!(found(&mut device, &floats), 2);
    let about_others = [rule(&device, RuleAction::Deny, &["read_file"], &["**/prod"])];
    assert_eq!(found(&mut device, &about_others), 3);
}

#[test]
fn what_starts_programs_is_read_and_not_changed_by_any_way_to_it() {
    let mut device = linked_device();
    device.put("files/dots/.bashrc", "PS1=$");
    device.put("files/.config/autostart/a.desktop", "[Desktop Entry]");
    device.link("files/plain.txt", "dots/.bashrc");
    let read = json!({"path": device.text("files/dots/.bashrc")});
    assert!(run(&mut device, &[], ("read_file", read), false).is_ok());
    let names = json!({"path": device.text("files/dots")});
    let listed = run(&mut device, &[], ("list_directory", names), false).unwrap();
    assert_eq!(listed.data["entries"].as_array().unwrap().len(), 1);
    let renamed = json!({"source": device.text("files/other/x.txt"), "destination": device.text("files/.profile")});
    for (call, is_approved) in [
        (write(&device, "files/dots/.bashrc"), false),
        (write(&device, "files/plain.txt"), false),
        (write(&device, "files/.config/autostart/b.desktop"), false),
        (("move_path", renamed), false),
        (erase(&device, "files/dots/.bashrc"), true),
        (remove(&device, "files/dots"), true),
        (remove(&device, "files/.config"), true),
    ] {
        let error = run(&mut device, &[], call.clone(), is_approved).unwrap_err();
        assert_eq!(error.code, ErrorCode::PathNotAllowed, "{call:?} {error}");
    }
}
