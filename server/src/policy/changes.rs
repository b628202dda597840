//! Describes what another policy changes on each device.

use std::collections::BTreeMap;

use orion_domain::DeviceName;
use orion_domain::rule::Rule;
use orion_policy::{diff_grants, diff_labels, diff_risks, diff_rules, rule_summary};
use serde::Serialize;

use crate::active_policy::{Active, PolicyTerms};
use crate::fleet::{DeviceSnapshot, Fleet};

/// What changes on one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeviceChange {
    /// The device's name.
    pub device: DeviceName,
    /// One line for each change: `tools + open_app`.
    pub lines: Vec<String>,
}

/// Returns the devices on which something changes, by name.
pub(super) fn changes(fleet: &Fleet, after: &Active) -> Vec<DeviceChange> {
    let devices: BTreeMap<_, _> = fleet
        .all()
        .into_iter()
        .filter(|known| !known.has_ended())
        .map(|known| (known.name.clone(), known))
        .collect();
    let changed = devices.into_iter().map(|(device, known)| {
        let lines = of_device(&known, after.terms(&device, &known.terms.labels));
        DeviceChange { device, lines }
    });
    changed.filter(|change| !change.lines.is_empty()).collect()
}

fn of_device(known: &DeviceSnapshot, after: PolicyTerms) -> Vec<String> {
    let before = &known.terms.policy;
    let mut lines = Vec::new();
    match (before.unreadable, after.unreadable) {
        (true, false) => lines.push("the policy can be read again".to_owned()),
        (false, true) => lines.push("everything is denied: the policy cannot be read".to_owned()),
        (true, true) | (false, false) => {}
    }
    match (&before.grants, &after.grants) {
        (None, Some((_, line))) => {
            lines.push(format!("its grants are then part of the policy, line {line}"));
        }
        (Some(_), None) => lines.push("it has its own grants again".to_owned()),
        (Some(_), Some(_)) | (None, None) => {}
    }
    match (&before.labels, &after.labels) {
        (None, Some(_)) => lines.push("its labels are then part of the policy".to_owned()),
        (Some(_), None) => lines.push("the labels that are stored with it count again".to_owned()),
        (Some(_), Some(_)) | (None, None) => {}
    }
    let new = known.under(after);
    lines.extend(diff_grants(&known.grants, &new.grants));
    lines.extend(diff_labels(known.labels(), new.labels()));
    let after = &new.terms.policy;
    lines.extend(diff_risks(before.risk, after.risk));
    if before.timezone != after.timezone {
        let zone = |zone: &str| if zone.is_empty() { "UTC".to_owned() } else { zone.to_owned() };
        lines.push(format!("timezone {} → {}", zone(&before.timezone), zone(&after.timezone)));
    }
    lines.extend(rules(&before.rules, &after.rules));
    lines
}

fn rules(before: &[Rule], after: &[Rule]) -> Vec<String> {
    // The source of a rule is not part of what the rule says.
    let by_id = |rules: &[Rule]| -> BTreeMap<String, Rule> {
        let bare = |rule: &Rule| Rule { source: String::new(), ..rule.clone() };
        rules.iter().map(|rule| (rule.id.clone(), bare(rule))).collect()
    };
    let (before, after) = (by_id(before), by_id(after));
    let mut lines = Vec::new();
    for (id, rule) in &after {
        match before.get(id) {
            None => lines.push(format!("rules + {id}: {}", rule_summary(rule))),
            Some(old) => {
                let details = diff_rules(old, rule).into_iter();
                lines.extend(details.map(|detail| format!("rules ~ {id}: {detail}")));
            }
        }
    }
    let gone = before.keys().filter(|id| !after.contains_key(*id));
    lines.extend(gone.map(|id| format!("rules - {id}")));
    lines
}
