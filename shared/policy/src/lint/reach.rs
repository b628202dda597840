//! What a rule can reach at all: its devices, tools, paths and time.

use orion_domain::DevicePath;
use orion_domain::Risk;
use orion_domain::evaluate::Decision;
use orion_domain::path::PathPattern;
use orion_domain::rule::RuleAction;

use super::grants::width;
use super::{LintContext, LintedDevice, Members};
use crate::file::PolicyFile;
use crate::file::rule::{RuleEntry, Selector};
use crate::finding::{At, Code, Findings, Position, did_you_mean, shown};

/// Looks at each rule for itself.
pub(super) fn check(
    policy: &PolicyFile,
    environment: &LintContext,
    grounds: &[LintedDevice],
    members: &Members,
    findings: &mut Findings,
) {
    for (entry, members) in policy.rules.iter().zip(members) {
        let members: Vec<_> = members.iter().filter_map(|&index| grounds.get(index)).collect();
        // Whether it is also for devices of which nothing is known.
        let mut open = entry.is_for_all();
        for selector in &entry.devices {
            open |= device(policy, environment, selector, findings);
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

/// Tells a selector that selects nothing. Gives whether it selects what the file does not know.
fn device(
    policy: &PolicyFile,
    environment: &LintContext,
    selector: &At<Selector>,
    findings: &mut Findings,
) -> bool {
    match &selector.value {
        Selector::All => true,
        Selector::Device(name) if policy.devices.contains_key(name) => false,
        Selector::Device(name) => {
            let enrolled = environment.devices.as_ref();
            if enrolled.is_some_and(|devices| devices.contains_key(name)) {
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
        label @ Selector::Label { key, value } => {
            if !policy.devices.values().any(|device| device.has(label)) {
                let message = format!("No device has the label {key}={value}.");
                let hint = "Labels are written with the devices: labels: { env: prod }.";
                findings.error(selector.at, Code::NeverMatches, message, hint);
            }
            false
        }
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

/// Whether each path of a rule says something on each of its devices, and not everything.
fn paths(entry: &RuleEntry, members: &[&LintedDevice], findings: &mut Findings) {
    let rule = &entry.rule;
    if rule.paths.is_empty() {
        return;
    }
    // A path says the same on every device whose places are the same.
    let mut kinds: Vec<&LintedDevice> = Vec::new();
    for ground in members {
        if !kinds.iter().any(|kind| kind.places == ground.places) {
            kinds.push(ground);
        }
    }
    for (path, &at) in rule.paths.iter().zip(&entry.paths_at) {
        for ground in &kinds {
            match PathPattern::parse(&ground.places, path) {
                Err(error) => {
                    let held = if rule.action.tightens() { "every path" } else { "no path" };
                    let message = format!(
                        "`{}` on {}: {error}. There the rule would speak of {held}.",
                        shown(path),
                        ground.name
                    );
                    let hint = "Name the devices that write paths so.";
                    findings.error(at, Code::BadPath, message, hint);
                }
                Ok(pattern) if !rule.action.tightens() => {
                    too_wide(&pattern, path, ground, at, findings);
                }
                Ok(_) => {}
            }
        }
    }
}

fn too_wide(
    pattern: &PathPattern,
    path: &str,
    ground: &LintedDevice,
    at: Position,
    findings: &mut Findings,
) {
    let stars = |character: char| matches!(character, '*' | '/' | '\\');
    let all = pattern.root().is_none() && path.chars().all(stars);
    let opens = |root: &DevicePath| {
        let whole = pattern.is_folder() || path.rsplit(['/', '\\']).next() == Some("**");
        whole.then(|| width(root, &ground.places, true)).flatten()
    };
    let wide = if all { Some("every path") } else { pattern.root().and_then(opens) };
    if let Some(what) = wide {
        let message = format!("`{}` pre-approves {what} of {}.", shown(path), ground.name);
        findings.warning(at, Code::TooWide, message, "Name the folders that are meant.");
    }
}

fn tools_granted(entry: &RuleEntry, members: &[&LintedDevice], findings: &mut Findings) {
    let rule = &entry.rule;
    let granted = |tool: &String| {
        orion_catalog::find(tool).is_some_and(|(spec, _)| {
            members.iter().any(|ground| {
                ground.scope.lists_tool(spec.name)
                    && ground.scope.missing_capability(spec.capabilities).is_none()
            })
        })
    };
    if !rule.tools.is_empty() && !rule.tools.iter().any(granted) {
        never(entry, "none of its devices is lent a tool that it is about", findings);
    }
}

fn paths_granted(entry: &RuleEntry, members: &[&LintedDevice], findings: &mut Findings) {
    let reaches = |ground: &&LintedDevice| {
        entry.rule.paths.iter().any(|path| {
            // What cannot be read was told.
            let Ok(pattern) = PathPattern::parse(&ground.places, path) else { return true };
            let Some(root) = pattern.root() else { return true };
            ground
                .scope
                .allowed
                .iter()
                .any(|allowed| allowed.root.contains(root) || root.contains(&allowed.root))
        })
    };
    if !entry.rule.paths.is_empty() && !members.iter().any(reaches) {
        never(entry, "its paths lie outside of everything that its devices are lent", findings);
    }
}

/// A rule that denies is kept as a second fence; any other is a mistake.
fn never(entry: &RuleEntry, why: &str, findings: &mut Findings) {
    let message = format!("{} can never match: {why}.", entry.rule.id);
    let hint = "Remove it, or correct its tools, paths or devices.";
    if entry.rule.action == RuleAction::Deny {
        findings.warning(entry.at, Code::NeverMatches, message, hint);
    } else {
        findings.error(entry.at, Code::NeverMatches, message, hint);
    }
}
