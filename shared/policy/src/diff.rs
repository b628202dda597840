//! The difference between two policy files, by device and rule, for people.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use orion_domain::evaluate::{Decision, RiskDefaults};
use orion_domain::rule::{Approvers, Hours, Rule, RuleAction};
use orion_domain::{Capability, Grants, Risk};
use serde::Serialize;

use crate::file::PolicyFile;
use crate::labels::Labels;

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The entry is new.
    Added,
    /// The entry was removed.
    Removed,
    /// The entry differs.
    Changed,
}

/// One line of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The changed entry: `device laptop-123`, `rule prod-restarts`, `risk`.
    pub what: String,
    /// The difference: `tools + open_app`; empty for an entry added or removed as a whole.
    pub detail: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.kind {
            ChangeKind::Added => '+',
            ChangeKind::Removed => '-',
            ChangeKind::Changed => '~',
        };
        write!(f, "{sign} {}", self.what)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

/// Returns the changes from one file to another: the resulting grants of each device, and the rules as
/// written. Moving entries within the file is no change.
#[must_use]
pub fn diff(old: &PolicyFile, new: &PolicyFile) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut put = |kind, what: String, detail: String| changes.push(Change { kind, what, detail });
    if old.approval_budget != new.approval_budget {
        let text = |budget: Option<orion_domain::rule::Rate>| {
            budget.map_or_else(
                || "none".to_owned(),
                |rate| format!("{} in {} s", rate.calls, rate.per_seconds),
            )
        };
        let detail = format!("{} → {}", text(old.approval_budget), text(new.approval_budget));
        put(ChangeKind::Changed, "approval_budget".to_owned(), detail);
    }
    if old.timezone != new.timezone {
        let detail = format!("{} → {}", or_utc(&old.timezone), or_utc(&new.timezone));
        put(ChangeKind::Changed, "timezone".to_owned(), detail);
    }
    if old.risk != new.risk {
        let detail = format!("{} → {}", of_risks(old.risk), of_risks(new.risk));
        put(ChangeKind::Changed, "risk".to_owned(), detail);
    }
    let names: BTreeSet<_> = old.devices.keys().chain(new.devices.keys()).collect();
    for name in names {
        let what = format!("device {name}");
        match (old.devices.get(name), new.devices.get(name)) {
            (None, Some(entry)) => {
                put(ChangeKind::Added, what, summary(&new.grants(entry)));
            }
            (Some(_), None) => put(ChangeKind::Removed, what, String::new()),
            (Some(before), Some(after)) => {
                let mut lines = diff_grants(&old.grants(before), &new.grants(after));
                lines.extend(labels(before.labels.as_ref(), after.labels.as_ref()));
                for line in lines {
                    put(ChangeKind::Changed, what.clone(), line);
                }
            }
            (None, None) => {}
        }
    }
    let rules = |policy: &PolicyFile| -> BTreeMap<String, BTreeMap<String, String>> {
        let fields = |entry: &crate::file::rule::RuleEntry| {
            let devices: BTreeSet<_> =
                entry.devices.iter().map(|it| it.value.to_string()).collect();
            let devices = if entry.is_for_all() { "all".to_owned() } else { joined(&devices) };
            let mut fields = rule_fields(&entry.rule);
            fields.insert("devices".to_owned(), devices);
            fields
        };
        policy.rules.iter().map(|entry| (entry.rule.id.clone(), fields(entry))).collect()
    };
    let (before, after) = (rules(old), rules(new));
    let ids: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for id in ids {
        let what = format!("rule {id}");
        match (before.get(id), after.get(id)) {
            (None, Some(fields)) => put(ChangeKind::Added, what, all_fields(fields)),
            (Some(_), None) => put(ChangeKind::Removed, what, String::new()),
            (Some(before), Some(after)) => {
                for detail in differing(before, after) {
                    put(ChangeKind::Changed, what.clone(), detail);
                }
            }
            (None, None) => {}
        }
    }
    changes
}

/// Returns what differs between two rules of one id, a line each: `action: ask → deny`.
#[must_use]
pub fn diff_rules(old: &Rule, new: &Rule) -> Vec<String> {
    differing(&rule_fields(old), &rule_fields(new))
}

/// Returns all that a rule says, on one line: `action ask; tools delete_file; paths /srv/**`.
#[must_use]
pub fn rule_summary(rule: &Rule) -> String {
    all_fields(&rule_fields(rule))
}

fn differing(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let text = |fields: &BTreeMap<String, String>, key: &String| {
        fields.get(key).cloned().unwrap_or_else(|| "none".to_owned())
    };
    keys.into_iter()
        .map(|key| (key, text(before, key), text(after, key)))
        .filter(|(_, was, is)| was != is)
        .map(|(key, was, is)| format!("{key}: {was} → {is}"))
        .collect()
}

fn or_utc(zone: &str) -> &str {
    if zone.is_empty() { "UTC" } else { zone }
}

fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default().replace('"', "")
}

/// Returns what each risk requires, in the words of a policy file. High and critical risk are left out where they only
/// require an approval.
fn of_risks(defaults: RiskDefaults) -> String {
    let words = RISKS.into_iter().map(|risk| (risk, risk_word(defaults, risk)));
    let named = words.filter(|&(risk, word)| risk < Risk::High || word != "ask");
    let texts: Vec<_> = named.map(|(risk, word)| format!("{risk}:{word}")).collect();
    format!("{{{}}}", texts.join(","))
}

/// Returns what changes in what each risk requires, a line each: `risk medium: allow → ask`.
#[must_use]
pub fn diff_risks(old: RiskDefaults, new: RiskDefaults) -> Vec<String> {
    let words = RISKS.into_iter().map(|risk| (risk, risk_word(old, risk), risk_word(new, risk)));
    let changed = words.filter(|(_, was, is)| was != is);
    changed.map(|(risk, was, is)| format!("risk {risk}: {was} → {is}")).collect()
}

const RISKS: [Risk; 4] = [Risk::Low, Risk::Medium, Risk::High, Risk::Critical];

fn risk_word(defaults: RiskDefaults, risk: Risk) -> &'static str {
    match defaults.of(risk) {
        Decision::Allow if defaults.notifies(risk) => "notify",
        Decision::Ask if defaults.signs(risk) => "ask_passkey",
        decision @ (Decision::Allow | Decision::DryRunFirst | Decision::Ask | Decision::Deny) => {
            decision.as_str()
        }
    }
}

fn joined(set: &BTreeSet<String>) -> String {
    let words: Vec<_> = set.iter().map(String::as_str).collect();
    words.join(", ")
}

/// Returns the lists of some grants by name.
fn lists(grants: &Grants) -> Vec<(&'static str, BTreeSet<String>)> {
    let path = |path: &orion_domain::grants::PathGrant| {
        let access: Vec<_> = path.access.iter().map(|access| access.as_str()).collect();
        format!("{} ({})", path.path, access.join(", "))
    };
    let capabilities = grants.capabilities.iter().flatten().map(ToString::to_string).collect();
    vec![
        ("tools", grants.tools.clone().unwrap_or_default()),
        ("capabilities", capabilities),
        ("paths", grants.paths.iter().map(path).collect()),
        ("deny_paths", grants.deny_paths.iter().cloned().collect()),
        ("apps", grants.apps.clone()),
        ("commands", grants.commands.iter().flatten().map(written).collect()),
        ("services", grants.services.iter().map(ToString::to_string).collect()),
        ("logs", grants.logs.iter().map(ToString::to_string).collect()),
        ("hosts", grants.hosts.clone()),
    ]
}

fn summary(grants: &Grants) -> String {
    let profile = grants.profile.map(|profile| format!("profile {}", written(&profile)));
    let lists = lists(grants)
        .into_iter()
        .filter(|(_, set)| !set.is_empty())
        .map(|(name, set)| format!("{name} {}", joined(&set)));
    let parts: Vec<_> = profile.into_iter().chain(lists).collect();
    parts.join("; ")
}

/// Returns the differences between two grants, a line each: `tools + open_app`.
#[must_use]
pub fn diff_grants(old: &Grants, new: &Grants) -> Vec<String> {
    let mut lines = Vec::new();
    if old.profile != new.profile {
        lines.push(format!("profile {} → {}", written(&old.profile), written(&new.profile)));
    }
    for ((name, before), (_, after)) in lists(old).into_iter().zip(lists(new)) {
        match (is_listed(old, name), is_listed(new, name)) {
            // A host that is listed may be contacted, too.
            (false, true) if name == "hosts" => lines.push(format!(
                "hosts become a list, whose URLs alone may be opened, and which may be contacted: {}",
                joined(&after)
            )),
            (false, true) => {
                let after = if after.is_empty() { "none".to_owned() } else { joined(&after) };
                lines.push(format!("{name} become a list, and no others are granted: {after}"));
            }
            // What was listed may be granted all the same.
            (true, false) => {
                lines.push(format!("{name} are not listed any more, and {}", unlisted(new, name)));
            }
            (true, true) | (false, false) => lines.extend(sets(name, &before, &after)),
        }
    }
    if old.read_only != new.read_only {
        lines.push(format!("read_only {} → {}", old.read_only, new.read_only));
    }
    lines
}

/// Returns whether what is not in the list of this name is not granted. Without the list, something else counts.
fn is_listed(grants: &Grants, name: &str) -> bool {
    match name {
        "tools" => grants.tools.is_some(),
        "capabilities" => grants.capabilities.is_some(),
        "commands" => grants.commands.is_some(),
        "hosts" => !grants.hosts.is_empty(),
        _ => true,
    }
}

/// Returns what is granted without the list of this name.
fn unlisted(grants: &Grants, name: &str) -> &'static str {
    match (name, grants.effective_capabilities()) {
        (_, Some(capabilities)) if capabilities.is_empty() => "none is granted",
        ("commands", Some(capabilities)) if !capabilities.contains(&Capability::CommandExecute) => {
            "none may be started"
        }
        ("commands", _) => "any program may be started that does not give the whole machine",
        ("hosts", _) => "any URL may be opened, and no host contacted",
        ("tools", _) => "every tool of the granted capabilities is granted",
        (_, Some(_)) => "those of the profile are granted",
        (_, None) => "those of the listed tools are granted",
    }
}

/// Returns what changes in the labels that the file gives a device. Without any, those that are stored count.
fn labels(old: Option<&Labels>, new: Option<&Labels>) -> Vec<String> {
    let none = Labels::default();
    let mut lines = diff_labels(old.unwrap_or(&none), new.unwrap_or(&none));
    match (old, new) {
        (None, Some(new)) if new.is_empty() => lines.push("labels none".to_owned()),
        (Some(_), None) => lines.push("labels as stored with the device".to_owned()),
        (None | Some(_), Some(_)) | (None, None) => {}
    }
    lines
}

/// Returns what differs between the labels of a device, a line each: `labels + env=prod`.
#[must_use]
pub fn diff_labels(old: &Labels, new: &Labels) -> Vec<String> {
    let pairs = |labels: &Labels| -> BTreeSet<String> {
        labels.iter().map(|(key, value)| format!("{key}={value}")).collect()
    };
    sets("labels", &pairs(old), &pairs(new))
}

fn sets(name: &str, old: &BTreeSet<String>, new: &BTreeSet<String>) -> Vec<String> {
    let more = new.difference(old).map(|word| format!("{name} + {word}"));
    let less = old.difference(new).map(|word| format!("{name} - {word}"));
    more.chain(less).collect()
}

/// Returns every field of a rule as text, except its name and place.
fn rule_fields(rule: &Rule) -> BTreeMap<String, String> {
    let value = serde_json::to_value(rule).unwrap_or_default();
    let fields = value.as_object().into_iter().flatten();
    // As it is written in the file.
    let action = match (rule.log_only, rule.action) {
        (true, _) => "log".to_owned(),
        (false, RuleAction::Preapprove) => "allow".to_owned(),
        (
            false,
            RuleAction::Deny | RuleAction::Ask | RuleAction::DryRunFirst | RuleAction::Notify,
        ) => written(&rule.action),
    };
    let action = std::iter::once(("action".to_owned(), action));
    let hours = rule.hours.as_ref().map(|hours| ("hours".to_owned(), hours_text(hours)));
    let expires = rule.expires_at.and_then(|at| Timestamp::from_millisecond(at).ok());
    let expires = expires.map(|at| ("expires".to_owned(), at.to_string()));
    // Whoever may approve is not said.
    let is_said = |key: &str| match key {
        "id" | "source" | "log_only" | "action" | "expires_at" => false,
        "approvers" => rule.approvers != Approvers::default(),
        _ => true,
    };
    fields
        .filter(|(key, _)| is_said(key))
        .map(|(key, value)| {
            let text = match value {
                serde_json::Value::Array(items) => {
                    let words: BTreeSet<_> = items
                        .iter()
                        .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                        .collect();
                    joined(&words)
                }
                serde_json::Value::String(text) => text.clone(),
                serde_json::Value::Object(_)
                | serde_json::Value::Null
                | serde_json::Value::Bool(_)
                | serde_json::Value::Number(_) => written(value),
            };
            (key.clone(), text)
        })
        .chain(hours)
        .chain(expires)
        .chain(action)
        .collect()
}

fn hours_text(hours: &Hours) -> String {
    let clock = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
    let names = crate::time::DAYS;
    let name = |day: &u8| names.iter().find(|(_, of)| of == day).map(|&(name, _)| name);
    let days: Vec<_> = hours.days.iter().filter_map(name).collect();
    let on = if days.is_empty() { String::new() } else { format!(" on {}", days.join(", ")) };
    format!("{} to {}{on}", clock(hours.from), clock(hours.to))
}

fn all_fields(fields: &BTreeMap<String, String>) -> String {
    let first = ["action", "tools", "devices"];
    let shown = first.iter().filter_map(|&key| Some(format!("{key} {}", fields.get(key)?)));
    let others = fields.iter().filter(|(key, _)| !first.contains(&key.as_str()));
    let parts: Vec<_> = shown.chain(others.map(|(key, text)| format!("{key} {text}"))).collect();
    parts.join("; ")
}
