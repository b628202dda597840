//! A rule as written, in the long form or the short one.

mod action;
mod arguments;

use jiff::tz::TimeZone;
use orion_domain::rule::{Hours, Quantity, Rate, Rule, RuleAction};
use orion_domain::{DeviceName, Role};

use super::bad_name;
use super::granted_paths::tool;
use crate::finding::{At, Code, Findings, Position, shown};
use crate::labels::Labels;
use crate::name::is_name;
use crate::read::{self, Fields};
use crate::time;
use crate::yaml::Node;

/// The maximum length of a reason, in characters.
const MAX_REASON_CHARS: usize = 300;

/// One rule of the file.
#[derive(Debug, Clone)]
pub(crate) struct RuleEntry {
    pub(crate) at: Position,
    /// The rule as it applies to each of its devices.
    pub(crate) rule: Rule,
    /// The devices that the rule applies to; empty means all.
    pub(crate) devices: Vec<At<Selector>>,
    /// Where each of the rule's paths is written.
    pub(crate) paths_at: Vec<Position>,
    pub(crate) examples: Vec<Example>,
}

/// Which devices a rule or a request selects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Selector {
    /// Every device.
    All,
    /// The device of this name.
    Device(DeviceName),
    /// The devices with this label.
    Label {
        /// The label's key.
        key: String,
        /// The label's value.
        value: String,
    },
}

impl Selector {
    /// Parses a selector: a device's name, `label:KEY=VALUE`, `group:NAME` or `all`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let label = |key: &str, value: &str| {
            (is_name(key) && is_name(value))
                .then(|| Self::Label { key: key.to_owned(), value: value.to_owned() })
        };
        if text == "all" {
            Some(Self::All)
        } else if let Some(text) = text.strip_prefix("label:") {
            text.split_once('=').and_then(|(key, value)| label(key, value))
        } else if let Some(name) = text.strip_prefix("group:") {
            label("group", name)
        } else {
            text.parse().ok().map(Self::Device)
        }
    }

    /// Returns whether it selects a device with this name and these labels.
    #[must_use]
    pub fn selects(&self, device: &DeviceName, labels: &Labels) -> bool {
        match self {
            Self::All => true,
            Self::Device(name) => name == device,
            Self::Label { key, value } => labels.get(key) == Some(value.as_str()),
        }
    }
}

/// A call that the rule must match, or must not match.
#[derive(Debug, Clone)]
pub(crate) struct Example {
    pub(crate) at: Position,
    pub(crate) text: String,
    pub(crate) speaks: bool,
}

pub(crate) const ROLES: [(&str, Role); 3] =
    [("viewer", Role::Viewer), ("operator", Role::Operator), ("admin", Role::Admin)];

impl RuleEntry {
    /// Reads a rule; errors are reported, and the rest is still read.
    pub(crate) fn read(
        node: &Node,
        file_name: &str,
        zone: &TimeZone,
        findings: &mut Findings,
    ) -> Option<Self> {
        let mut fields = Fields::of(node, "a rule", findings)?;
        let at = node.at;
        let mut rule = Rule::new("", RuleAction::Deny);
        rule.source = format!("{file_name}:{}", at.line);
        if let Some(id) = take_text(&mut fields, "id", findings) {
            if !is_name(id.value) {
                bad_name(id.at, "rule", id.value, findings);
            }
            id.value.clone_into(&mut rule.id);
        }
        if let Some(node) = fields.take(&["tools", "tool"], findings) {
            let names = read::texts(node, "`tools`", findings);
            empty(node, &names, "tools", findings);
            rule.tools = names
                .into_iter()
                .filter_map(|name| tool(name, findings))
                .map(ToOwned::to_owned)
                .collect();
        }
        if let Some(node) = fields.take(&["users", "user"], findings) {
            let names = read::texts(node, "`users`", findings);
            empty(node, &names, "users", findings);
            for name in names {
                match name.value.parse() {
                    Ok(user) => rule.users.push(user),
                    Err(_) => bad_name(name.at, "user", name.value, findings),
                }
            }
        }
        if let Some(node) = fields.take(&["roles", "role"], findings) {
            let items = read::items(node, "`roles`", findings);
            empty(node, &items, "roles", findings);
            rule.roles = items
                .into_iter()
                .filter_map(|item| read::word(item, "a role", &ROLES, findings))
                .collect();
        }
        let mut paths_at = Vec::new();
        if let Some(node) = fields.take(&["paths", "path"], findings) {
            let paths = read::texts(node, "`paths`", findings);
            empty(node, &paths, "paths", findings);
            for path in paths {
                paths_at.push(path.at);
                rule.paths.push(path.value.to_owned());
            }
        }
        if let Some(node) = fields.take(&["arguments"], findings) {
            rule.arguments = arguments::read(node, &rule.tools, findings);
        }
        let devices = fields.take(&["devices", "device"], findings);
        let devices = devices.map(|node| selectors(node, findings)).unwrap_or_default();
        rule.hours = fields.take(&["hours"], findings).and_then(|node| hours(node, findings));
        rule.limit = fields.take(&["limit"], findings).and_then(|node| limit(node, findings));
        rule.above = fields.take(&["above"], findings).and_then(|node| above(node, findings));
        if let Some(text) = take_text(&mut fields, "expires", findings) {
            rule.expires_at = time::date(text.value, zone);
            if rule.expires_at.is_none() {
                let message = format!("`{}` is not a date with a time.", shown(text.value));
                let hint =
                    "Write 2026-12-31T18:00, by the policy's time zone, or 2026-12-31T18:00:00Z.";
                findings.error(text.at, Code::BadValue, message, hint);
            }
        }
        if let Some(text) = take_text(&mut fields, "because", findings) {
            if text.value.chars().count() > MAX_REASON_CHARS {
                let message = format!("A reason has at most {MAX_REASON_CHARS} characters.");
                findings.error(text.at, Code::BadValue, message, "Link to the rest.");
            }
            text.value.clone_into(&mut rule.because);
        }
        action::read(&mut fields, &mut rule, findings);
        let examples = fields.take(&["examples"], findings);
        let examples = examples.map(|node| self::examples(node, findings)).unwrap_or_default();
        fields.finish(findings);
        Some(Self { at, rule, devices, paths_at, examples })
    }

    /// Returns a name derived from what the rule does.
    pub(crate) fn own_name(&self) -> String {
        let verb = match self.rule.action {
            RuleAction::Deny => "deny",
            RuleAction::Ask => "ask",
            RuleAction::DryRunFirst => "preview",
            RuleAction::Preapprove => "allow",
            RuleAction::Notify => "notify",
        };
        let verb = if self.rule.log_only { "log" } else { verb };
        let what = match &self.rule.tools[..] {
            [] => "all",
            [first, ..] => first,
        };
        format!("{verb}-{what}")
    }

    /// Returns whether the rule applies to a device with this name and these labels.
    pub(crate) fn selects(&self, device: &DeviceName, labels: &Labels) -> bool {
        self.is_for_all() || self.devices.iter().any(|it| it.value.selects(device, labels))
    }

    /// Returns whether the rule applies to every device, named in the file or not.
    pub(crate) fn is_for_all(&self) -> bool {
        self.devices.is_empty()
            || self.devices.iter().any(|selector| selector.value == Selector::All)
    }
}

fn take_text<'a>(
    fields: &mut Fields<'a>,
    name: &'static str,
    findings: &mut Findings,
) -> Option<At<&'a str>> {
    let node = fields.take(&[name], findings)?;
    read::text(node, &format!("`{name}`"), findings)
}

/// Reports an empty list, which would mean everything and is never intended.
fn empty<T>(node: &Node, list: &[T], what: &str, findings: &mut Findings) {
    if list.is_empty() && !matches!(node.value, crate::yaml::Value::Table(_)) {
        let message = format!("The list of {what} is empty.");
        findings.error(node.at, Code::BadValue, message, "Leave the key out to mean all.");
    }
}

fn selectors(node: &Node, findings: &mut Findings) -> Vec<At<Selector>> {
    let names = read::texts(node, "`devices`", findings);
    empty(node, &names, "devices", findings);
    let mut selectors = Vec::new();
    for At { at, value } in names {
        match Selector::parse(value) {
            Some(value) => selectors.push(At { at, value }),
            None => {
                let message = format!("`{}` selects no devices.", shown(value));
                let hint = "Write a device's name, label:env=prod, group:laptops, or all.";
                findings.error(at, Code::BadValue, message, hint);
            }
        }
    }
    selectors
}

fn hours(node: &Node, findings: &mut Findings) -> Option<Hours> {
    let mut fields = Fields::of(node, "`hours`", findings)?;
    let mut minute = |name: &'static str, most: u16, findings: &mut Findings| {
        let Some(text) = take_text(&mut fields, name, findings) else {
            let hint = "Write { from: \"22:00\", to: \"07:00\" }.";
            findings.error(node.at, Code::Missing, format!("`{name}` is missing."), hint);
            return None;
        };
        let found = time::clock(text.value).filter(|&minute| minute <= most);
        if found.is_none() {
            let message = format!("`{}` is not a time of the day.", shown(text.value));
            findings.error(text.at, Code::BadValue, message, "Write \"07:00\" to \"24:00\".");
        }
        found
    };
    let (from, to) = (minute("from", 1439, findings), minute("to", 1440, findings));
    let days = fields.take(&["days"], findings).map(|node| {
        let items = read::items(node, "`days`", findings);
        empty(node, &items, "days", findings);
        let words = items.into_iter();
        words.filter_map(|item| read::word(item, "a day", &time::DAYS, findings)).collect()
    });
    fields.finish(findings);
    let (from, to) = (from?, to?);
    if from == to {
        let message = "These hours end when they begin.";
        let hint = "For whole days write { from: \"00:00\", to: \"24:00\" }.";
        findings.error(node.at, Code::NeverMatches, message, hint);
        return None;
    }
    let mut days: Vec<u8> = days.unwrap_or_default();
    days.sort_unstable();
    days.dedup();
    Some(Hours { from, to, days })
}

fn limit(node: &Node, findings: &mut Findings) -> Option<Rate> {
    let mut fields = Fields::of(node, "`limit`", findings)?;
    let calls = fields.take(&["calls"], findings);
    let calls = calls.and_then(|node| read::number(node, "`calls`", 0..=1_000_000, findings));
    let per = take_text(&mut fields, "per", findings);
    fields.finish(findings);
    let per_seconds = per.as_ref().and_then(|per| time::span(per.value));
    if let (Some(per), None) = (&per, per_seconds) {
        let message = format!("`{}` is not a span of time.", shown(per.value));
        let hint = "Write 90s, 10m, 1h or 1d; at most 31d.";
        findings.error(per.at, Code::BadValue, message, hint);
    }
    let (Some(calls), Some(per_seconds)) = (calls, per_seconds) else {
        let hint = "Write { calls: 10, per: 1h }.";
        findings.error(node.at, Code::Missing, "A limit has calls and a span of time.", hint);
        return None;
    };
    Some(Rate { calls: u32::try_from(calls).unwrap_or(u32::MAX), per_seconds })
}

fn above(node: &Node, findings: &mut Findings) -> Option<Quantity> {
    let mut fields = Fields::of(node, "`above`", findings)?;
    let entries = fields.take(&["entries"], findings);
    let entries = entries.and_then(|node| read::number(node, "`entries`", 0..=1 << 40, findings));
    let bytes = take_text(&mut fields, "bytes", findings).and_then(|text| {
        let found = time::bytes(text.value);
        if found.is_none() {
            let message = format!("`{}` is not a size.", shown(text.value));
            findings.error(text.at, Code::BadValue, message, "Write 500, 10KB or 2GiB.");
        }
        found
    });
    fields.finish(findings);
    if entries.is_none() && bytes.is_none() {
        let hint = "Write { entries: 100 } or { bytes: 1GB }.";
        findings.error(node.at, Code::Missing, "This says above what.", hint);
        return None;
    }
    Some(Quantity { entries, bytes })
}

fn examples(node: &Node, findings: &mut Findings) -> Vec<Example> {
    let Some(mut fields) = Fields::of(node, "`examples`", findings) else { return Vec::new() };
    let mut all = Vec::new();
    for (name, speaks) in [("match", true), ("not_match", false)] {
        let Some(node) = fields.take(&[name], findings) else { continue };
        for At { at, value } in read::texts(node, &format!("`{name}`"), findings) {
            all.push(Example { at, text: value.to_owned(), speaks });
        }
    }
    fields.finish(findings);
    all
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Device(name) => name.fmt(f),
            Self::Label { key, value } => write!(f, "label:{key}={value}"),
        }
    }
}
