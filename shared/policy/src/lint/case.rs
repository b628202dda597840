//! Entries that case alone tells apart. What is lent or pre-approved is compared as it is written on
//! POSIX and in either case on Windows; what is denied, and rules that tighten, in either case on all.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use orion_domain::path::PathPattern;
use orion_domain::{DevicePath, Places};

use super::{LintedDevice, Members};
use crate::file::PolicyFile;
use crate::file::rule::RuleEntry;
use crate::finding::{At, Code, Findings, Position, shown};

const HINT: &str = "Write each as it is written on the device.";

/// Looks at what each device is lent, and at the paths of each rule.
pub(super) fn check(
    policy: &PolicyFile,
    grounds: &[LintedDevice],
    members: &Members,
    findings: &mut Findings,
) {
    for ground in grounds {
        granted_paths(policy, ground, findings);
    }
    let rules = || policy.rules.iter().zip(members);
    for (entry, members) in rules().filter(|(entry, _)| !entry.rule.action.tightens()) {
        let members = members.iter().filter_map(|&index| grounds.get(index));
        preapproved(entry, &members.collect::<Vec<_>>(), findings);
    }
    let mut seen: BTreeMap<String, Vec<RulePath<'_>>> = BTreeMap::new();
    for (entry, members) in rules() {
        alike(entry, members, &mut seen, findings);
    }
}

/// One spelling for all that differ in case alone.
fn folded(path: &str) -> String {
    path.to_lowercase()
}

fn granted_paths(policy: &PolicyFile, ground: &LintedDevice, findings: &mut Findings) {
    let Some(entry) = policy.devices.get(&ground.name) else { return };
    let lent = policy.granted_paths(entry);
    let (name, places) = (&ground.name, &ground.places);
    let anchored = Places { workspace: None, ..places.clone() };
    let kept_out: BTreeMap<String, (&str, DevicePath)> = lent
        .deny_paths
        .iter()
        .filter_map(|entry| {
            let pattern = PathPattern::parse(places, &entry.value).ok()?;
            let root = pattern.root().filter(|_| pattern.is_folder())?;
            Some((folded(&root.to_string()), (entry.value.as_str(), root.clone())))
        })
        .collect();
    let mut before: BTreeMap<String, (&str, String)> = BTreeMap::new();
    for At { at, value } in lent.paths.iter().flatten() {
        let Ok(path) = DevicePath::resolve(&anchored, &value.path) else { continue };
        let written = path.to_string();
        match before.entry(folded(&written)) {
            Entry::Vacant(first) => drop(first.insert((&value.path, written))),
            Entry::Occupied(first) if first.get().1 != written => {
                let so = match ground.folds_case {
                    Some(true) => "are one folder there: it is lent for what either says",
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
                    "`{}` lends nothing on {name}: `{}` keeps it out, for what is denied is denied in either case.",
                    shown(&value.path),
                    shown(denied)
                );
                findings.warning(*at, Code::Case, message, "Take one of the two out.");
            }
            around = folder.parent();
        }
    }
}

/// A pre-approval of a folder that is lent by another spelling.
fn preapproved(entry: &RuleEntry, members: &[&LintedDevice], findings: &mut Findings) {
    for (path, &at) in entry.rule.paths.iter().zip(&entry.paths_at) {
        for ground in members {
            let Ok(pattern) = PathPattern::parse(&ground.places, path) else { continue };
            let Some(root) = pattern.root() else { continue };
            let lent = || ground.scope.allowed.iter().map(|allowed| &allowed.root);
            if lent().any(|lent| lent.contains(root) || root.contains(lent)) {
                continue;
            }
            let near = lent().find(|lent| lent.may_contain(root) || root.may_contain(lent));
            if let Some(near) = near {
                let message = format!(
                    "`{}` pre-approves nothing on {}: what is lent there is `{near}`, and what allows is compared as it is written.",
                    shown(path),
                    ground.name
                );
                findings.warning(at, Code::Case, message, HINT);
            }
        }
    }
}

/// A path of a rule, and where it holds.
struct RulePath<'a> {
    entry: &'a RuleEntry,
    path: &'a str,
    members: &'a [usize],
}

/// Paths of rules that case alone tells apart, where one of the rules does not tell.
fn alike<'a>(
    entry: &'a RuleEntry,
    members: &'a [usize],
    seen: &mut BTreeMap<String, Vec<RulePath<'a>>>,
    findings: &mut Findings,
) {
    /// How many spellings of one path are remembered.
    const MOST: usize = 8;
    /// Of how many devices of a rule it is asked whether they are another's.
    const ASKED: usize = 64;
    for (path, &at) in entry.rule.paths.iter().zip(&entry.paths_at) {
        let before = seen.entry(folded(path)).or_default();
        let together = |other: &&RulePath<'_>| {
            other.path != path
                && (entry.rule.action.tightens() || other.entry.rule.action.tightens())
                && ((entry.is_for_all() && other.entry.is_for_all())
                    || members
                        .iter()
                        .take(ASKED)
                        .any(|member| other.members.binary_search(member).is_ok()))
        };
        if let Some(other) = before.iter().find(together) {
            report(entry, path, at, other, findings);
        } else if before.len() < MOST && !before.iter().any(|other| other.path == path) {
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
