//! Checks for rules that another rule makes ineffective, and for duplicate rules.

use std::collections::{BTreeMap, BTreeSet};

use orion_domain::Places;
use orion_domain::path::PathPattern;
use orion_domain::rule::{Rule, RuleAction};

use super::{LintedDevice, Members, guess};
use crate::file::PolicyFile;
use crate::file::rule::{RuleEntry, Selector};
use crate::finding::{Code, Findings};

/// A rule prepared for comparison with every other one.
struct Compared<'a> {
    entry: &'a RuleEntry,
    /// The rule without its names, its lists sorted: two equal rules have the same effect.
    bare: Rule,
    /// Position of its set of devices.
    devices: usize,
    patterns: Vec<Option<PathPattern>>,
}

/// The different sets of devices, and which of them contain which. Rules are many and sets are few.
#[derive(Default)]
struct Sets {
    /// `None` is every device.
    all: Vec<Option<BTreeSet<Selector>>>,
    subsets: BTreeMap<(usize, usize), bool>,
}

impl Sets {
    fn index(&mut self, set: Option<BTreeSet<Selector>>) -> usize {
        let found = self.all.iter().position(|had| *had == set);
        found.unwrap_or_else(|| {
            self.all.push(set);
            self.all.len() - 1
        })
    }

    /// Returns whether one set contains all of another, which is not empty.
    fn holds(&mut self, wide: usize, narrow: usize) -> bool {
        let all = &self.all;
        *self.subsets.entry((wide, narrow)).or_insert_with(|| {
            match (all.get(wide), all.get(narrow)) {
                (Some(None), _) => true,
                (Some(Some(wide)), Some(Some(narrow))) => {
                    !narrow.is_empty() && narrow.is_subset(wide)
                }
                (Some(Some(_)), Some(None) | None) | (None, _) => false,
            }
        })
    }
}

/// Compares each pair of rules.
pub(super) fn check(
    policy: &PolicyFile,
    grounds: &[LintedDevice],
    members: &Members,
    findings: &mut Findings,
) {
    let mut sets = Sets::default();
    let members = members
        .iter()
        .map(|members| members.iter().filter_map(|&index| grounds.get(index)).collect::<Vec<_>>());
    let rules: Vec<_> = policy
        .rules
        .iter()
        .zip(members)
        .map(|(entry, members)| compared(entry, &members, &mut sets))
        .collect();
    for (index, rule) in rules.iter().enumerate() {
        for (other_index, other) in rules.iter().enumerate() {
            if index == other_index {
                continue;
            }
            if rule.devices == other.devices && rule.bare == other.bare {
                if other_index < index {
                    let (id, line) = (&rule.entry.rule.id, other.entry.at.line);
                    let message = format!("{id} says the same as the rule in line {line}.");
                    findings.error(rule.entry.at, Code::DuplicateRule, message, "Remove one.");
                }
            } else if other.covers(rule, &mut sets) {
                // Of two denials that cover each other the later one is reported.
                let is_reported = other_index < index || !rule.covers(other, &mut sets);
                report(rule.entry, other.entry, is_reported, findings);
            }
        }
    }
}

/// Reports a rule that is covered by another.
fn report(entry: &RuleEntry, other: &RuleEntry, is_reported: bool, findings: &mut Findings) {
    if !other.rule.decides() || !entry.rule.decides() {
        // What only logs or notifies does so beside every other rule.
        return;
    }
    let hint = "The strictest rule wins, wherever it is written. Narrow the other one.";
    let (id, of) = (&entry.rule.id, format!("{} in line {}", other.rule.id, other.at.line));
    match (other.rule.action, entry.rule.action) {
        (RuleAction::Deny, RuleAction::Deny) if is_reported => {
            let message = format!("{id} denies what {of} denies already.");
            findings.warning(entry.at, Code::Shadowed, message, "Remove it.");
        }
        (RuleAction::Deny, RuleAction::Deny) => {}
        (RuleAction::Deny, RuleAction::Ask | RuleAction::DryRunFirst | RuleAction::Preapprove) => {
            let message = format!("{id} never counts: {of} denies all that it is about.");
            findings.error(entry.at, Code::Shadowed, message, hint);
        }
        (RuleAction::Ask | RuleAction::DryRunFirst, RuleAction::Preapprove) => {
            let message = format!("{id} saves no approval request: {of} asks anyway.");
            findings.error(entry.at, Code::Shadowed, message, hint);
        }
        (
            RuleAction::Ask | RuleAction::DryRunFirst | RuleAction::Preapprove | RuleAction::Notify,
            _,
        )
        | (RuleAction::Deny, RuleAction::Notify) => {}
    }
}

fn compared<'a>(entry: &'a RuleEntry, members: &[&LintedDevice], sets: &mut Sets) -> Compared<'a> {
    let mut bare = entry.rule.clone();
    bare.id.clear();
    bare.source.clear();
    bare.because.clear();
    bare.tools.sort();
    bare.paths.sort();
    bare.users.sort();
    bare.roles.sort();
    let guessed: Places = guess(entry.rule.paths.iter().map(String::as_str));
    let places = members.first().map_or(&guessed, |device| &device.places);
    let patterns =
        entry.rule.paths.iter().map(|path| PathPattern::parse(places, path).ok()).collect();
    let devices = sets.index(selected(entry, members));
    Compared { entry, bare, devices, patterns }
}

/// Returns the devices of a rule by name, and its labels, which devices outside the file may have; `None` for all.
fn selected(entry: &RuleEntry, members: &[&LintedDevice]) -> Option<BTreeSet<Selector>> {
    if entry.is_for_all() {
        return None;
    }
    let named = members.iter().map(|device| Selector::Device(device.name.clone()));
    Some(named.chain(entry.devices.iter().map(|selector| selector.value.clone())).collect())
}

impl Compared<'_> {
    /// Returns whether this rule, which has no conditions, matches everything that another matches.
    fn covers(&self, narrow: &Self, sets: &mut Sets) -> bool {
        let (a, b) = (&self.bare, &narrow.bare);
        let unconditional = a.hours.is_none()
            && a.limit.is_none()
            && a.above.is_none()
            && a.expires_at.is_none()
            && a.arguments.is_empty()
            && a.action.tightens();
        unconditional
            && holds(&a.tools, &b.tools)
            && holds(&a.users, &b.users)
            && holds(&a.roles, &b.roles)
            && sets.holds(self.devices, narrow.devices)
            && self.covers_paths(narrow)
    }

    fn covers_paths(&self, narrow: &Self) -> bool {
        if self.patterns.is_empty() || narrow.patterns.is_empty() {
            return self.patterns.is_empty();
        }
        narrow.patterns.iter().all(|inner| {
            let Some(inner) = inner else { return false };
            self.patterns.iter().flatten().any(|outer| {
                let folder = outer.root().filter(|_| outer.is_folder());
                outer == inner
                    || folder.zip(inner.root()).is_some_and(|(outer, inner)| outer.contains(inner))
            })
        })
    }
}

/// Returns whether a list contains another. An empty list means all. Both are sorted.
fn holds<T: Ord>(wide: &[T], narrow: &[T]) -> bool {
    let holds = |item: &T| wide.binary_search(item).is_ok();
    wide.is_empty() || (!narrow.is_empty() && narrow.iter().all(holds))
}
