//! Compiles a policy file for the evaluator, for one device.

use orion_domain::evaluate::RiskDefaults;
use orion_domain::rule::{Rule, RuleAction};
use orion_domain::{DeviceName, Grants};

use crate::file::granted_paths::GrantedPaths;
use crate::file::rule::{RuleEntry, Selector};
use crate::file::{DeviceEntry, PROFILES, PolicyFile};
use crate::finding::At;
use crate::labels::Labels;

/// The policy of one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledDevice {
    /// The device's grants.
    pub grants: Grants,
    /// The rules that apply to the device, in the file's order.
    pub rules: Vec<Rule>,
    /// The device's labels.
    pub labels: Labels,
    /// The default decision of each risk.
    pub risk: RiskDefaults,
    /// The IANA name of the time zone for hours; empty for UTC.
    pub timezone: String,
}

impl PolicyFile {
    /// Compiles the policy of a device that the file names; `None` for any other. `stored` are the labels that are
    /// stored with it, which count where the file gives it none.
    #[must_use]
    pub fn compile(&self, device: &DeviceName, stored: &Labels) -> Option<CompiledDevice> {
        let entry = self.devices.get(device)?;
        Some(CompiledDevice {
            grants: self.grants(entry),
            rules: self.rules_for(device, stored),
            labels: entry.labels.as_ref().unwrap_or(stored).clone(),
            risk: self.risk,
            timezone: self.timezone.clone(),
        })
    }

    /// Returns the labels that the file gives a device; `None` where it gives it none, so that those count that are
    /// stored with it.
    #[must_use]
    pub fn labels(&self, device: &DeviceName) -> Option<&Labels> {
        self.devices.get(device)?.labels.as_ref()
    }

    /// Returns the names of devices of which the file says something: those that it grants something, and those that
    /// its rules name.
    pub fn names(&self) -> impl Iterator<Item = &DeviceName> {
        let selectors = self.rules.iter().flat_map(|entry| &entry.devices);
        let named = selectors.filter_map(|selector| match &selector.value {
            Selector::Device(name) => Some(name),
            Selector::All | Selector::Label { .. } => None,
        });
        self.devices.keys().chain(named)
    }

    /// Returns the line in which the file names a device.
    #[must_use]
    pub fn line_of(&self, device: &DeviceName) -> Option<u32> {
        self.devices.get(device).map(|entry| entry.granted.at.line)
    }

    /// Returns the rules that apply to a device, named in the file or not. `stored` are the labels that are stored
    /// with it, which count where the file gives it none.
    #[must_use]
    pub fn rules_for(&self, device: &DeviceName, stored: &Labels) -> Vec<Rule> {
        let labels = self.labels(device).unwrap_or(stored);
        self.rules
            .iter()
            .filter(|entry| entry.selects(device, labels) && self.has_scope(entry))
            .map(|entry| entry.rule.clone())
            .collect()
    }

    /// Returns whether a rule selects a device by its name or by the labels of the file.
    pub(crate) fn selects(&self, entry: &RuleEntry, device: &DeviceName) -> bool {
        entry.selects(device, self.labels(device).unwrap_or(&Labels::default()))
    }

    /// Returns whether labels that are stored with a device decide whether a rule selects it.
    pub(crate) fn depends_on_stored_labels(&self, entry: &RuleEntry, device: &DeviceName) -> bool {
        let is_label = |selector: &At<Selector>| matches!(selector.value, Selector::Label { .. });
        self.labels(device).is_none()
            && !self.selects(entry, device)
            && entry.devices.iter().any(is_label)
    }

    /// Returns whether a rule's scope is complete. A pre-approval without a scope is left out: where it
    /// is not an error it changes nothing, and it must not take effect when something else changes.
    pub(crate) fn has_scope(&self, entry: &RuleEntry) -> bool {
        let rule = &entry.rule;
        rule.action != RuleAction::Preapprove
            || !(rule.tools.is_empty()
                || (entry.is_for_all()
                    && rule.users.is_empty()
                    && (rule.paths.is_empty() || rule.paths.iter().any(|path| is_all(path)))))
    }

    /// Returns the device's own grants merged over its profile's.
    pub(crate) fn granted_paths(&self, entry: &DeviceEntry) -> GrantedPaths {
        match entry.granted.profile.as_ref().and_then(|name| self.profiles.get(&name.value)) {
            Some(profile) => entry.granted.over(profile),
            None => entry.granted.clone(),
        }
    }

    pub(crate) fn grants(&self, entry: &DeviceEntry) -> Grants {
        let granted = self.granted_paths(entry);
        let name = granted.profile.as_ref().map(|name| name.value.clone());
        let built_in = PROFILES.iter().find(|(built_in, _)| Some(*built_in) == name.as_deref());
        granted.grants(built_in.map(|&(_, profile)| profile))
    }
}

/// Returns whether a path of a rule covers a whole device, or one of its drives: `**`, `/`, `C:/**`.
fn is_all(path: &str) -> bool {
    let mut letters = path.chars();
    let has_drive =
        letters.next().is_some_and(|it| it.is_ascii_alphabetic()) && letters.next() == Some(':');
    let below = if has_drive { letters.as_str() } else { path };
    below.chars().all(|it| matches!(it, '*' | '/' | '\\' | '.'))
}
