//! Entries that differ only in case. Grants and pre-approvals compare case on POSIX and ignore it on
//! Windows. Denials, and rules that tighten, ignore case everywhere.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use orion_domain::path::PathPattern;
use orion_domain::{DevicePath, Places};

use super::{LintedDevice, Members};
use crate::file::PolicyFile;
use crate::file::rule::RuleEntry;
use crate::finding::{At, Code, Findings, Position, shown};

const HINT: &str = "Write each as it is written on the device.";

/// Checks each device's grants and the paths of each rule.
pub(super) fn check(
    policy: &PolicyFile,
    devices: &[LintedDevice],
    members: &Members,
    findings: &mut Findings,
) {
    for device in devices {
        granted_paths(policy, device, findings);
    }
    let rules = || policy.rules.iter().zip(members);
    for (entry, members) in rules().filter(|(entry, _)| !entry.rule.action.tightens()) {
        let members = members.iter().filter_map(|&index| devices.get(index));
        preapproved(entry, &members.collect::<Vec<_>>(), findings);
    }
    let mut seen: BTreeMap<String, Vec<RulePath<'_>>> = BTreeMap::new();
    for (entry, members) in rules() {
        alike(entry, members, &mut seen, findings);
    }
}

/// Returns one spelling for all paths that differ only in case.
fn folded(path: &str) -> String {
    path.to_lowercase()
}

fn granted_paths(policy: &PolicyFile, device: &LintedDevice, findings: &mut Findings) {
    let Some(entry) = policy.devices.get(&device.name) else { return };
    let granted = policy.granted_paths(entry);
    let (name, places) = (&device.name, &device.places);
    let anchored = Places { workspace: None, ..places.clone() };
    let kept_out: BTreeMap<String, (&str, DevicePath)> = granted
        .deny_paths
        .iter()
        .filter_map(|entry| {
            let pattern = PathPattern::parse(places, &entry.value).ok()?;
            let root = pattern.root().filter(|_| pattern.is_folder())?;
            Some((folded(&root.to_string()), (entry.value.as_str(), root.clone())))
        })
        .collect();
    let mut before: BTreeMap<String, (&str, String)> = BTreeMap::new();
    for At { at, value } in granted.paths.iter().flatten() {
        let Ok(path) = DevicePath::resolve(&anchored, &value.path) else { continue };
        let written = path.to_string();
        match before.entry(folded(&written)) {
            Entry::Vacant(first) => drop(first.insert((&value.path, written))),
            Entry::Occupied(first) if first.get().1 != written => {
                let so = match device.folds_case {
                    Some(true) => "are one folder there: it is granted for what either says",
                    Some(false) => {
                        "are two folders there: what is denied and rules that tighten hold for both"
                    }
                    None => "are two folders on Linux, and one on macOS",
                };
                let message = format!(
                    "`{}` and `{}` on {name} differ in case alone, and {so}.",
                    shown(&value.path),
                    shown(first.get().0)
                );
                findings.warning(*at, Code::Case, message, HINT);
            }
            Entry::Occupied(_) => {}
        }
        let mut around = Some(path);
        while let Some(folder) = around {
            if let Some((denied, root)) = kept_out.get(&folded(&folder.to_string()))
                && root.to_string() != folder.to_string()
            {
                let message = format!(
                    "`{}` grants nothing on {name}: `{}` keeps it out, for what is denied is denied in either case.",
                    shown(&value.path),
                    shown(denied)
                );
                findings.warning(*at, Code::Case, message, "Take one of the two out.");
            }
            around = folder.parent();
        }
    }
}

/// Reports a pre-approval of a folder that is granted in another spelling.
fn preapproved(entry: &RuleEntry, members: &[&LintedDevice], findings: &mut Findings) {
    for (path, &at) in entry.rule.paths.iter().zip(&entry.paths_at) {
        for device in members {
            let Ok(pattern) = PathPattern::parse(&device.places, path) else { continue };
            let Some(root) = pattern.root() else { continue };
            let granted = || device.scope.allowed.iter().map(|allowed| &allowed.root);
            if granted().any(|granted| granted.contains(root) || root.contains(granted)) {
                continue;
            }
            let near =
                granted().find(|granted| granted.may_contain(root) || root.may_contain(granted));
            if let Some(near) = near {
                let message = format!(
                    "`{}` pre-approves nothing on {}: what is granted there is `{near}`, and what allows is compared as it is written.",
                    shown(path),
                    device.name
                );
                findings.warning(at, Code::Case, message, HINT);
            }
        }
    }
}

/// A path of a rule, and where it applies.
struct RulePath<'a> {
    entry: &'a RuleEntry,
    path: &'a str,
    members: &'a [usize],
}

/// Reports paths of rules that differ only in case, where one of the rules ignores case.
fn alike<'a>(
    entry: &'a RuleEntry,
    members: &'a [usize],
    seen: &mut BTreeMap<String, Vec<RulePath<'a>>>,
    findings: &mut Findings,
) {
    /// The maximum number of remembered spellings of one path.
    const MAX_SPELLINGS: usize = 8;
    /// The maximum number of a rule's devices that are compared with another rule's.
    const MAX_DEVICES: usize = 64;
    for (path, &at) in entry.rule.paths.iter().zip(&entry.paths_at) {
        let before = seen.entry(folded(path)).or_default();
        let together = |other: &&RulePath<'_>| {
            other.path != path
                && (entry.rule.action.tightens() || other.entry.rule.action.tightens())
                && ((entry.is_for_all() && other.entry.is_for_all())
                    || members
                        .iter()
                        .take(MAX_DEVICES)
                        .any(|member| other.members.binary_search(member).is_ok()))
        };
        if let Some(other) = before.iter().find(together) {
            report(entry, path, at, other, findings);
        } else if before.len() < MAX_SPELLINGS && !before.iter().any(|other| other.path == path) {
            before.push(RulePath { entry, path, members });
        }
    }
}

fn report(
    entry: &RuleEntry,
    path: &str,
    at: Position,
    other: &RulePath<'_>,
    findings: &mut Findings,
) {
    let tightens = if entry.rule.action.tightens() { entry } else { other.entry };
    let message = format!(
        "`{}` and `{}` of {} differ in case alone, which a rule that tightens does not tell apart: {} speaks of both.",
        shown(path),
        shown(other.path),
        other.entry.rule.id,
        tightens.rule.id
    );
    findings.warning(at, Code::Case, message, HINT);
}
