//! Rules that another rule makes useless, and rules that stand twice.

use std::collections::BTreeSet;

use orion_domain::DeviceName;
use orion_domain::path::PathPattern;
use orion_domain::rule::{Rule, RuleAction};

use super::{Ground, guess};
use crate::file::PolicyFile;
use crate::file::rule::{RuleEntry, Selector};
use crate::finding::{Code, Findings};

/// Looks at each pair of rules.
pub(super) fn look(policy: &PolicyFile, grounds: &[Ground], findings: &mut Findings) {
    let rules = &policy.rules;
    let devices: Vec<_> = rules.iter().map(|entry| named(policy, entry)).collect();
    for (index, (entry, own)) in rules.iter().zip(&devices).enumerate() {
        for (other_index, (other, others)) in rules.iter().zip(&devices).enumerate() {
            if index == other_index {
                continue;
            }
            if own == others && is_same(&entry.rule, &other.rule) {
                if other_index < index {
                    let (id, line) = (&entry.rule.id, other.at.line);
                    let message = format!("{id} says the same as the rule in line {line}.");
                    findings.error(entry.at, Code::DuplicateRule, message, "Remove one.");
                }
                continue;
            }
            if !covers(other, others, entry, own, grounds) {
                continue;
            }
            let (id, of) = (&entry.rule.id, format!("{} in line {}", other.rule.id, other.at.line));
            match (other.rule.action, entry.rule.action) {
                (RuleAction::Deny, RuleAction::Deny) => {
                    // Of two that cover each other the later one is told.
                    let mutual = covers(entry, own, other, others, grounds);
                    if !mutual || other_index < index {
                        let message = format!("{id} denies what {of} denies already.");
                        findings.warning(entry.at, Code::Shadowed, message, "Remove it.");
                    }
                }
                (RuleAction::Deny, _) => {
                    let message = format!("{id} never counts: {of} denies all that it is about.");
                    let hint = "The strictest rule wins, wherever it stands. Narrow the other one.";
                    findings.error(entry.at, Code::Shadowed, message, hint);
                }
                (RuleAction::Ask | RuleAction::DryRunFirst, RuleAction::Preapprove) => {
                    let message = format!("{id} saves no question: {of} asks all the same.");
                    let hint = "The strictest rule wins, wherever it stands. Narrow the other one.";
                    findings.error(entry.at, Code::Shadowed, message, hint);
                }
                (RuleAction::Ask | RuleAction::DryRunFirst | RuleAction::Preapprove, _) => {}
            }
        }
    }
}

/// The devices of a rule by name; `None` for all.
fn named(policy: &PolicyFile, entry: &RuleEntry) -> Option<BTreeSet<DeviceName>> {
    if entry.is_for_all() {
        return None;
    }
    let mut names: BTreeSet<_> =
        policy.devices.keys().filter(|name| policy.selects(entry, name)).cloned().collect();
    names.extend(entry.devices.iter().filter_map(|selector| match &selector.value {
        Selector::Device(name) => Some(name.clone()),
        Selector::All | Selector::Label { .. } => None,
    }));
    Some(names)
}

/// Whether two rules differ in nothing but their names.
fn is_same(a: &Rule, b: &Rule) -> bool {
    let bare = |rule: &Rule| {
        let mut rule = rule.clone();
        rule.id.clear();
        rule.source.clear();
        rule.because.clear();
        rule.tools.sort();
        rule.paths.sort();
        rule.users.sort();
        rule.roles.sort();
        rule
    };
    bare(a) == bare(b)
}

/// Whether a rule without conditions speaks of everything that another one speaks of.
fn covers(
    wide: &RuleEntry,
    wide_devices: &Option<BTreeSet<DeviceName>>,
    narrow: &RuleEntry,
    narrow_devices: &Option<BTreeSet<DeviceName>>,
    grounds: &[Ground],
) -> bool {
    let (a, b) = (&wide.rule, &narrow.rule);
    let unconditional = a.hours.is_none()
        && a.limit.is_none()
        && a.above.is_none()
        && a.expires_at.is_none()
        && a.action.tightens();
    let devices = || match (wide_devices, narrow_devices) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(wide), Some(narrow)) => !narrow.is_empty() && narrow.is_subset(wide),
    };
    unconditional
        && holds(&a.tools, &b.tools)
        && holds(&a.users, &b.users)
        && holds(&a.roles, &b.roles)
        && devices()
        && paths(a, b, narrow_devices, grounds)
}

/// Whether a list, which means all when it is empty, holds another.
fn holds<T: PartialEq>(wide: &[T], narrow: &[T]) -> bool {
    wide.is_empty() || (!narrow.is_empty() && narrow.iter().all(|item| wide.contains(item)))
}

fn paths(
    wide: &Rule,
    narrow: &Rule,
    devices: &Option<BTreeSet<DeviceName>>,
    grounds: &[Ground],
) -> bool {
    if wide.paths.is_empty() || narrow.paths.is_empty() {
        return wide.paths.is_empty();
    }
    let ground = grounds
        .iter()
        .find(|ground| devices.as_ref().is_none_or(|names| names.contains(&ground.name)));
    let guessed = guess(wide.paths.iter().chain(&narrow.paths).map(String::as_str));
    let places = ground.map_or(&guessed, |ground| &ground.places);
    narrow.paths.iter().all(|inner| {
        wide.paths.iter().any(|outer| {
            let read = |text| PathPattern::parse(places, text).ok();
            inner == outer
                || read(outer).zip(read(inner)).is_some_and(|(outer, inner)| {
                    let folder = outer.root().filter(|_| outer.is_folder());
                    folder.zip(inner.root()).is_some_and(|(outer, inner)| outer.contains(inner))
                })
        })
    })
}
