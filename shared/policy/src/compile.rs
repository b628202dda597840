//! Compiles a policy file for the evaluator, for one device.

use std::collections::BTreeMap;

use orion_domain::evaluate::RiskDefaults;
use orion_domain::rule::{Rule, RuleAction};
use orion_domain::{DeviceName, Grants};

use crate::file::granted_paths::GrantedPaths;
use crate::file::rule::{RuleEntry, Selector};
use crate::file::{DeviceEntry, PROFILES, PolicyFile};

/// The policy of one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledDevice {
    /// The device's grants.
    pub grants: Grants,
    /// The rules that apply to the device, in the file's order.
    pub rules: Vec<Rule>,
    /// The device's labels.
    pub labels: BTreeMap<String, String>,
    /// The default decision of each risk.
    pub risk: RiskDefaults,
    /// The IANA name of the time zone for hours; empty for UTC.
    pub timezone: String,
}

impl PolicyFile {
    /// Compiles the policy of a device that the file names; `None` for any other.
    #[must_use]
    pub fn compile(&self, device: &DeviceName) -> Option<CompiledDevice> {
        let entry = self.devices.get(device)?;
        Some(CompiledDevice {
            grants: self.grants(entry),
            rules: self.rules_for(device),
            labels: entry.labels.clone(),
            risk: self.risk,
            timezone: self.timezone.clone(),
        })
    }

    /// Returns the labels that the file gives a device; `None` for a device that it does not name.
    #[must_use]
    pub fn labels(&self, device: &DeviceName) -> Option<&BTreeMap<String, String>> {
        self.devices.get(device).map(|entry| &entry.labels)
    }

    /// Returns the line in which the file names a device.
    #[must_use]
    pub fn line_of(&self, device: &DeviceName) -> Option<u32> {
        self.devices.get(device).map(|entry| entry.granted.at.line)
    }

    /// Returns the rules that apply to a device, named in the file or not.
    #[must_use]
    pub fn rules_for(&self, device: &DeviceName) -> Vec<Rule> {
        self.rules
            .iter()
            .filter(|entry| self.selects(entry, device) && self.has_scope(entry))
            .map(|entry| entry.rule.clone())
            .collect()
    }

    pub(crate) fn selects(&self, entry: &RuleEntry, device: &DeviceName) -> bool {
        let named = self.devices.get(device);
        entry.is_for_all()
            || entry.devices.iter().any(|selector| match &selector.value {
                Selector::Device(name) => name == device,
                label @ (Selector::All | Selector::Label { .. }) => {
                    named.is_some_and(|entry| entry.has(label))
                }
            })
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
