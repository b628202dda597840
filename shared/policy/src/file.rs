//! The policy file as written: each part, and where it is written.

mod bounds;
mod budget;
pub(crate) mod granted_paths;
pub(crate) mod rule;

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;
use orion_domain::evaluate::{Decision, RiskDefaults};
use orion_domain::rule::Rate;
use orion_domain::{DeviceName, Profile};

use crate::finding::{At, Code, Finding, Findings, Position, did_you_mean, shown};
use crate::labels::Labels;
use crate::name::{NAMES, is_name};
use crate::read::{self, Fields};
use crate::yaml::{self, Node, Value};
use granted_paths::GrantedPaths;
use rule::RuleEntry;

/// The built-in profiles by name.
pub(crate) const PROFILES: [(&str, Profile); 5] = [
    ("reader", Profile::Reader),
    ("operator", Profile::Operator),
    ("developer", Profile::Developer),
    ("homelab", Profile::Homelab),
    ("strict", Profile::Strict),
];

/// The maximum number of rules in one file. Each is compared with every other, and evaluated at each
/// call.
const MAX_RULES: usize = 1000;

/// A policy file that was parsed.
#[derive(Debug, Clone)]
pub struct PolicyFile {
    pub(crate) name: String,
    pub(crate) timezone: String,
    pub(crate) risk: RiskDefaults,
    /// Where `risk` is written. None if it is not.
    pub(crate) risk_at: Option<Position>,
    /// How often one person may approve. `None` for no limit.
    pub(crate) approval_budget: Option<Rate>,
    pub(crate) profiles: BTreeMap<String, GrantedPaths>,
    pub(crate) devices: BTreeMap<DeviceName, DeviceEntry>,
    pub(crate) rules: Vec<RuleEntry>,
}

/// One device of the file.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeviceEntry {
    pub(crate) granted: GrantedPaths,
    /// `None` where the file gives it none, so that those count that are stored with it.
    pub(crate) labels: Option<Labels>,
}

impl PolicyFile {
    /// Parses a policy file by its grammar alone. All findings are reported at once; the file is
    /// returned if none is an error. [`check`](crate::check) also lints the content.
    #[must_use]
    pub fn parse(text: &str, file_name: &str) -> (Option<Self>, Vec<Finding>) {
        let mut findings = Findings::of(file_name);
        let policy = yaml::parse(text, &mut findings)
            .and_then(|root| Self::read(&root, file_name, &mut findings))
            .filter(|_| !findings.has_errors());
        (policy, findings.into_sorted())
    }

    fn read(root: &Node, file_name: &str, findings: &mut Findings) -> Option<Self> {
        if !matches!(root.value, Value::Table(_)) {
            let message =
                "This is no policy file: it has no `key: value` lines, such as `devices:`.";
            let hint = "Name the policy file; `orion policy show` prints the active one.";
            findings.error(root.at, Code::WrongType, message, hint);
            return None;
        }
        let mut fields = Fields::of(root, "a policy file", findings)?;
        if let Some(node) = fields.take(&["version"], findings)
            && node.text() != Some("1")
        {
            let hint = "Write `version: 1`.";
            findings.error(node.at, Code::BadValue, "Only version 1 is known here.", hint);
        }
        let (timezone, zone) = fields
            .take(&["timezone"], findings)
            .and_then(|node| timezone(node, findings))
            .unwrap_or_else(|| (String::new(), TimeZone::UTC));
        let risk = fields.take(&["risk"], findings);
        let (risk_at, risk) =
            (risk.map(|node| node.at), risk.and_then(|node| self::risk(node, findings)));
        let budget = fields.take(&["approval_budget"], findings);
        let approval_budget = budget.and_then(|node| budget::read(node, findings));
        let profiles = fields.take(&["profiles"], findings);
        let profiles = profiles.map(|node| self::profiles(node, findings)).unwrap_or_default();
        let devices = fields.take(&["devices"], findings);
        let devices = devices.map(|node| self::devices(node, findings)).unwrap_or_default();
        let rules = fields.take(&["rules"], findings);
        let mut rules = rules
            .map(|node| match &node.value {
                Value::List(items) if items.len() > MAX_RULES => {
                    let message =
                        format!("There are {} rules, and {MAX_RULES} at most.", items.len());
                    let hint = "One rule can be about many tools, and about devices by a label.";
                    findings.error(node.at, Code::TooLarge, message, hint);
                    Vec::new()
                }
                Value::List(items) => items
                    .iter()
                    .filter_map(|item| RuleEntry::read(item, file_name, &zone, findings))
                    .collect(),
                Value::Scalar { .. } | Value::Table(_) => {
                    read::wrong(node, "`rules` is a list", findings);
                    Vec::new()
                }
            })
            .unwrap_or_default();
        fields.finish(findings);
        name_rules(&mut rules, findings);
        let policy = Self {
            name: file_name.to_owned(),
            timezone,
            risk: risk.unwrap_or_default(),
            risk_at,
            approval_budget,
            profiles,
            devices,
            rules,
        };
        bounds::check(&policy, root.at, findings);
        policy.check_profiles(findings);
        Some(policy)
    }

    /// Checks that every named profile exists, and that every profile is used.
    fn check_profiles(&self, findings: &mut Findings) {
        let built_in = || PROFILES.iter().map(|&(name, _)| name);
        let mut used = BTreeSet::new();
        for granted in self.profiles.values() {
            if let Some(At { at, value }) = &granted.profile
                && !built_in().any(|name| name == value)
            {
                let message = format!("`{}` is no built-in profile.", shown(value));
                findings.error(*at, Code::UnknownProfile, message, did_you_mean(value, built_in()));
            }
        }
        for device in self.devices.values() {
            let Some(At { at, value }) = &device.granted.profile else { continue };
            used.insert(value);
            if !self.profiles.contains_key(value) && !built_in().any(|name| name == value) {
                let known: Vec<_> =
                    self.profiles.keys().map(String::as_str).chain(built_in()).collect();
                let message = format!("There is no profile `{}`.", shown(value));
                let hint = did_you_mean(value, known.iter().copied());
                findings.error(*at, Code::UnknownProfile, message, hint);
            }
        }
        for (name, granted) in self.profiles.iter().filter(|(name, _)| !used.contains(name)) {
            let message = format!("No device has the profile `{name}`.");
            findings.warning(
                granted.at,
                Code::Unused,
                message,
                "Remove it, or give it to a device.",
            );
        }
    }

    /// Returns the devices that the file names.
    pub fn devices(&self) -> impl Iterator<Item = &DeviceName> {
        self.devices.keys()
    }

    /// Returns the IANA name of the time zone for hours; empty for UTC.
    #[must_use]
    pub fn timezone(&self) -> &str {
        &self.timezone
    }

    /// Returns the default decision of each risk.
    #[must_use]
    pub const fn risk(&self) -> RiskDefaults {
        self.risk
    }

    /// Returns how often one person may approve. `None` for no limit.
    #[must_use]
    pub const fn approval_budget(&self) -> Option<Rate> {
        self.approval_budget
    }

    /// Returns the ids of the rules, in order.
    pub fn rule_ids(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|entry| entry.rule.id.as_str())
    }
}

fn timezone(node: &Node, findings: &mut Findings) -> Option<(String, TimeZone)> {
    let name = read::text(node, "a time zone", findings)?.value;
    let zone = crate::time::zone(name);
    if zone.is_none() {
        let message = format!("`{}` is not a time zone that is known here.", shown(name));
        let hint = "Use an IANA name such as Europe/Berlin, or UTC.";
        findings.error(node.at, Code::BadValue, message, hint);
    }
    zone.map(|zone| (name.to_owned(), zone))
}

/// What low and medium risk may require; `None` reports the calls that run.
const ANSWERS: [(&str, Option<Decision>); 5] = [
    ("allow", Some(Decision::Allow)),
    ("notify", None),
    ("dry_run_first", Some(Decision::DryRunFirst)),
    ("ask", Some(Decision::Ask)),
    ("deny", Some(Decision::Deny)),
];

/// What high and critical risk may require, and whether with a passkey; each stricter than the one before.
const HIGH_ANSWERS: [(&str, (Decision, bool)); 3] = [
    ("ask", (Decision::Ask, false)),
    ("ask_passkey", (Decision::Ask, true)),
    ("deny", (Decision::Deny, false)),
];

fn risk(node: &Node, findings: &mut Findings) -> Option<RiskDefaults> {
    let mut fields = Fields::of(node, "`risk`", findings)?;
    let mut answer = |name: &'static str, findings: &mut Findings| {
        let node = fields.take(&[name], findings)?;
        read::word(node, name, &ANSWERS, findings)
    };
    let (low, medium) = (answer("low", findings), answer("medium", findings));
    let mut high = |name: &'static str, findings: &mut Findings| {
        let node = fields.take(&[name], findings)?;
        read::word(node, name, &HIGH_ANSWERS, findings)
    };
    let (high, critical) = (high("high", findings), high("critical", findings));
    fields.finish(findings);
    let decision = |answer: Option<Decision>| answer.unwrap_or(Decision::Allow);
    let notifies = |answer: Option<Option<Decision>>| answer == Some(None);
    let at_low = low.map_or(Decision::Allow, decision);
    let at_medium = medium.map_or(at_low, decision);
    let at_high = high.unwrap_or((Decision::Ask, false)).max((at_medium, false));
    let at_critical = critical.unwrap_or(at_high);
    for (is_looser, name, than) in [
        (at_medium < at_low, "Medium", "low"),
        (high.is_some_and(|(high, _)| high < at_medium), "High", "medium"),
        (critical.is_some_and(|critical| critical < at_high), "Critical", "high"),
    ] {
        if is_looser {
            let message = format!("{name} risk is held looser here than {than} risk.");
            findings.error(node.at, Code::Contradiction, message, "Make it at least as strict.");
        }
    }
    let defaults = RiskDefaults::new(at_low, at_medium);
    let defaults = defaults.with_high(at_high.0, at_critical.0);
    let defaults = defaults.signing(at_high.1, at_critical.1);
    // Where medium risk is left out, it is held as low risk is.
    Some(defaults.notifying(notifies(low), notifies(medium.or(low))))
}

pub(crate) fn bad_name(at: Position, what: &str, text: &str, findings: &mut Findings) {
    let message = format!("`{}` cannot be the name of a {what}.", shown(text));
    findings.error(at, Code::BadValue, message, NAMES);
}

fn entries<'a>(node: &'a Node, what: &str, findings: &mut Findings) -> &'a [(yaml::Key, Node)] {
    match &node.value {
        Value::Table(entries) => entries,
        Value::Scalar { .. } | Value::List(_) => {
            read::wrong(node, &format!("`{what}` is a table"), findings);
            &[]
        }
    }
}

fn profiles(node: &Node, findings: &mut Findings) -> BTreeMap<String, GrantedPaths> {
    let mut profiles = BTreeMap::new();
    for (key, node) in entries(node, "profiles", findings) {
        if PROFILES.iter().any(|(name, _)| *name == key.text) {
            let message = format!("`{}` is a built-in profile.", key.text);
            let hint = "Give yours another name; it can begin with `profile: …`.";
            findings.error(key.at, Code::BadValue, message, hint);
        } else if !is_name(&key.text) {
            bad_name(key.at, "profile", &key.text, findings);
        }
        let Some(mut fields) = Fields::of(node, "a profile", findings) else { continue };
        let granted = GrantedPaths { at: key.at, ..GrantedPaths::read(&mut fields, findings) };
        fields.finish(findings);
        profiles.insert(key.text.clone(), granted);
    }
    profiles
}

fn devices(node: &Node, findings: &mut Findings) -> BTreeMap<DeviceName, DeviceEntry> {
    let mut devices = BTreeMap::new();
    for (key, node) in entries(node, "devices", findings) {
        let name = key.text.parse::<DeviceName>();
        if name.is_err() {
            bad_name(key.at, "device", &key.text, findings);
        }
        let Some(mut fields) = Fields::of(node, "a device", findings) else { continue };
        let granted = GrantedPaths { at: key.at, ..GrantedPaths::read(&mut fields, findings) };
        let labels = fields.take(&["labels"], findings);
        let labels = labels.map(|node| self::labels(node, findings));
        fields.finish(findings);
        if let Ok(name) = name {
            devices.insert(name, DeviceEntry { granted, labels });
        }
    }
    devices
}

fn labels(node: &Node, findings: &mut Findings) -> Labels {
    let mut labels = Labels::default();
    for (key, node) in entries(node, "labels", findings) {
        let Some(value) = read::text(node, "a label", findings) else { continue };
        if labels.insert(&key.text, value.value).is_err() {
            let text = if is_name(&key.text) { value.value } else { &key.text };
            bad_name(value.at, "label", text, findings);
        }
    }
    labels
}

/// Names each rule without an id after its action, and reports duplicate ids.
fn name_rules(rules: &mut [RuleEntry], findings: &mut Findings) {
    let mut taken: BTreeMap<String, Position> = BTreeMap::new();
    for entry in rules.iter().filter(|entry| !entry.rule.id.is_empty()) {
        let id = &entry.rule.id;
        if let Some(first) = taken.get(id) {
            let message = format!("The rule in line {} is called `{}` too.", first.line, shown(id));
            let hint = "Denials and records name rules by their ids; each has its own.";
            findings.error(entry.at, Code::DuplicateId, message, hint);
        } else {
            taken.insert(id.clone(), entry.at);
        }
    }
    for entry in rules.iter_mut().filter(|entry| entry.rule.id.is_empty()) {
        let stem = entry.own_name();
        let free = |id: &String| !taken.contains_key(id);
        let numbered = (2..).map(|number: usize| format!("{stem}-{number}"));
        let id = std::iter::once(stem.clone()).chain(numbered).find(free).unwrap_or_default();
        taken.insert(id.clone(), entry.at);
        entry.rule.id = id;
    }
}
