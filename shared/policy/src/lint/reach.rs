//! Checks what a rule can match: its devices, tools, paths and time.

use std::collections::BTreeSet;

use orion_domain::Risk;
use orion_domain::evaluate::Decision;
use orion_domain::path::PathPattern;
use orion_domain::rule::RuleAction;
use orion_domain::{DeviceName, DevicePath};

use super::grants::width;
use super::{LintContext, LintedDevice, Members};
use crate::file::PolicyFile;
use crate::file::rule::{RuleEntry, Selector};
use crate::finding::{At, Code, Findings, Position, did_you_mean, nearest, shown};
use crate::labels::Labels;

/// Checks each rule alone.
pub(super) fn check(
    policy: &PolicyFile,
    environment: &LintContext,
    devices: &[LintedDevice],
    members: &Members,
    findings: &mut Findings,
) {
    let in_file = policy.devices.values().filter_map(|device| device.labels.as_ref());
    let labels = in_file.chain(&environment.labels).flat_map(Labels::iter);
    let labels = labels.map(|(key, value)| format!("{key}={value}")).collect();
    for (entry, members) in policy.rules.iter().zip(members) {
        let members: Vec<_> = members.iter().filter_map(|&index| devices.get(index)).collect();
        // Whether the rule also applies to devices about which nothing is known.
        let mut open = entry.is_for_all();
        for selector in &entry.devices {
            open |= device(policy, environment, &labels, selector, findings);
        }
        if let (Some(end), Some(now)) = (entry.rule.expires_at, environment.now_ms)
            && end <= now
        {
            let message = format!("The time of {} is over.", entry.rule.id);
            findings.error(entry.at, Code::Expired, message, "Remove it, or give it more time.");
        }
        if entry.rule.action == RuleAction::Preapprove {
            preapproval(policy, entry, findings);
        }
        paths(entry, &members, findings);
        if !open && !members.is_empty() {
            tools_granted(entry, &members, findings);
            paths_granted(entry, &members, findings);
        }
    }
}

/// Reports a selector that selects nothing. Returns whether it selects devices that the file does not
/// name, or may.
fn device(
    policy: &PolicyFile,
    environment: &LintContext,
    labels: &BTreeSet<String>,
    selector: &At<Selector>,
    findings: &mut Findings,
) -> bool {
    match &selector.value {
        Selector::All => true,
        Selector::Device(name) if policy.devices.contains_key(name) => false,
        Selector::Device(name) => {
            let enrolled = environment.devices.as_ref();
            if name.as_str() == DeviceName::BACKEND
                || enrolled.is_some_and(|devices| devices.contains_key(name))
            {
                return true;
            }
            let known: Vec<_> = policy
                .devices
                .keys()
                .chain(enrolled.into_iter().flat_map(|devices| devices.keys()))
                .map(|name| name.as_str())
                .collect();
            let hint = did_you_mean(name.as_str(), known.iter().copied());
            let code = Code::UnknownDevice;
            if enrolled.is_some() {
                let message = format!("There is no device `{name}`.");
                findings.error(selector.at, code, message, hint);
            } else {
                let message = format!("`{name}` is not among the file's devices.");
                findings.warning(selector.at, code, message, hint);
            }
            true
        }
        Selector::Label { key, value } => {
            unknown_label(environment, labels, &format!("{key}={value}"), selector.at, findings);
            true
        }
    }
}

/// Reports a label that no device has: as an error where the fleet is known, so that a mistake in writing is found.
fn unknown_label(
    environment: &LintContext,
    known: &BTreeSet<String>,
    label: &str,
    at: Position,
    findings: &mut Findings,
) {
    if known.contains(label) {
        return;
    }
    let message = format!("No device has the label {label}.");
    if environment.devices.is_some() {
        let first =
            || "Label a device or an enrolment token first, or correct the label.".to_owned();
        let hint = nearest(label, known.iter().map(String::as_str)).unwrap_or_else(first);
        findings.error(at, Code::NeverMatches, message, hint);
    } else {
        let hint = "Labels that are stored with devices are not known here.";
        findings.warning(at, Code::NeverMatches, message, hint);
    }
}

fn preapproval(policy: &PolicyFile, entry: &RuleEntry, findings: &mut Findings) {
    let rule = &entry.rule;
    if rule.tools.is_empty() {
        let message = format!("{} pre-approves and names no tool.", rule.id);
        let hint = "Name the tools that may run without asking.";
        findings.error(entry.at, Code::Unscoped, message, hint);
        return;
    }
    let specs = || rule.tools.iter().filter_map(|name| orion_catalog::find(name)).map(|it| it.0);
    if specs().any(|spec| spec.risk == Risk::Critical) {
        let message = format!("{} pre-approves calls of critical risk.", rule.id);
        findings.warning(entry.at, Code::CriticalPreapproved, message, "Let a person look.");
    }
    if policy.has_scope(entry) {
        return;
    }
    if specs().any(|spec| policy.risk.of(spec.risk) != Decision::Allow) {
        let message = format!("{} pre-approves everywhere, of anything, by anyone.", rule.id);
        let hint = "Name devices, users, or paths that are less than everything.";
        findings.error(entry.at, Code::Unscoped, message, hint);
    } else {
        let message = format!("{} pre-approves what runs without asking; it is left out.", rule.id);
        let hint = "Remove it, or name devices, paths or users to spare them other questions.";
        findings.warning(entry.at, Code::WithoutEffect, message, hint);
    }
}

/// Checks that each path of a rule is valid on each of its devices, and does not cover everything.
fn paths(entry: &RuleEntry, members: &[&LintedDevice], findings: &mut Findings) {
    let rule = &entry.rule;
    if rule.paths.is_empty() {
        return;
    }
    // A path means the same on every device with the same places.
    let mut kinds: Vec<&LintedDevice> = Vec::new();
    for device in members {
        if !kinds.iter().any(|kind| kind.places == device.places) {
            kinds.push(device);
        }
    }
    for (path, &at) in rule.paths.iter().zip(&entry.paths_at) {
        for device in &kinds {
            match PathPattern::parse(&device.places, path) {
                Err(error) => {
                    let held = if rule.action.tightens() { "every path" } else { "no path" };
                    let message = format!(
                        "`{}` on {}: {error}. There the rule would speak of {held}.",
                        shown(path),
                        device.name
                    );
                    let hint = "Say for which devices the rule is: `devices: [NAME]`.";
                    findings.error(at, Code::BadPath, message, hint);
                }
                Ok(pattern) if !rule.action.tightens() => {
                    too_wide(&pattern, path, device, at, findings);
                }
                Ok(_) => {}
            }
        }
    }
}

fn too_wide(
    pattern: &PathPattern,
    path: &str,
    device: &LintedDevice,
    at: Position,
    findings: &mut Findings,
) {
    let stars = |character: char| matches!(character, '*' | '/' | '\\');
    let all = pattern.root().is_none() && path.chars().all(stars);
    let opens = |root: &DevicePath| {
        let whole = pattern.is_folder() || path.rsplit(['/', '\\']).next() == Some("**");
        whole.then(|| width(root, &device.places, true)).flatten()
    };
    let wide = if all { Some("every path") } else { pattern.root().and_then(opens) };
    if let Some(what) = wide {
        let message = format!("`{}` pre-approves {what} of {}.", shown(path), device.name);
        findings.warning(at, Code::TooWide, message, "Name the folders that are meant.");
    }
}

fn tools_granted(entry: &RuleEntry, members: &[&LintedDevice], findings: &mut Findings) {
    let rule = &entry.rule;
    let granted = |tool: &String| {
        orion_catalog::find(tool).is_some_and(|(spec, _)| {
            members.iter().any(|device| {
                device.scope.lists_tool(spec.name)
                    && device.scope.missing_capability(spec.capabilities).is_none()
            })
        })
    };
    if !rule.tools.is_empty() && !rule.tools.iter().any(granted) {
        never(entry, "none of its devices has a grant of a tool that it is about", findings);
    }
}

fn paths_granted(entry: &RuleEntry, members: &[&LintedDevice], findings: &mut Findings) {
    let reaches = |device: &&LintedDevice| {
        entry.rule.paths.iter().any(|path| {
            // An unreadable path was reported already.
            let Ok(pattern) = PathPattern::parse(&device.places, path) else { return true };
            let Some(root) = pattern.root() else { return true };
            device
                .scope
                .allowed
                .iter()
                .any(|allowed| allowed.root.contains(root) || root.contains(&allowed.root))
        })
    };
    if !entry.rule.paths.is_empty() && !members.iter().any(reaches) {
        never(entry, "its paths lie outside of everything that its devices are granted", findings);
    }
}

/// Reports a rule that never matches. A denial is kept as a second barrier; any other rule is a mistake.
fn never(entry: &RuleEntry, why: &str, findings: &mut Findings) {
    let message = format!("{} can never match: {why}.", entry.rule.id);
    let hint = "Remove it, or correct its tools, paths or devices.";
    if entry.rule.action == RuleAction::Deny {
        findings.warning(entry.at, Code::NeverMatches, message, hint);
    } else {
        findings.error(entry.at, Code::NeverMatches, message, hint);
    }
}
