//! A snapshot of one target for the pipeline: its identity, its places and its effective policy. A target is
//! a device, or the backend itself.

mod compile;

use std::sync::Arc;

use orion_catalog::{Alias, RunsOn, ToolSpec, find};
use orion_domain::evaluate::changes_own_grants;
use orion_domain::grants::BadEntry;
use orion_domain::rule::Rule;
use orion_domain::{
    Caller, DeviceId, DeviceName, Grants, Hint, Places, Policy, TemporaryGrant, ToolError,
    ToolFacts,
};
use orion_policy::Labels;
use orion_wire::{DeviceFacts, Os, Timezone};

use super::ToDevice;
use crate::active_policy::{FILE_NAME, PolicyTerms};
use crate::clock::now_ms;
use crate::store::{DeviceState, ModeRow};

/// The active terms of a device besides its own grants and ceiling.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActiveTerms {
    /// The terms of the policy file.
    pub policy: PolicyTerms,
    /// The labels that are stored with the device, used where the policy file gives it none.
    pub labels: Labels,
    /// The dangerous mode: until when, and who set it. None where it is off.
    pub dangerous: Option<ModeRow>,
    /// Rules from standing approvals; they follow the file's rules.
    pub standing: Vec<Rule>,
    /// What admins granted single people on request, oldest first.
    pub temporary: Vec<TemporaryGrant>,
    /// Whether the backend's configuration denies every change.
    pub writes_disabled: bool,
    /// The approved custom tools that the device has.
    pub custom: Vec<&'static ToolSpec>,
    /// Names of custom tools that wait for an admin's decision.
    pub undecided: Vec<String>,
}

/// What is cached of one device. Immutable: a change makes a new snapshot.
#[derive(Debug, Clone)]
pub struct DeviceSnapshot {
    /// The device's id.
    pub id: DeviceId,
    /// The device's name.
    pub name: DeviceName,
    /// The fingerprint of the approved key; empty where it is unknown.
    pub key: String,
    /// The device's state.
    pub state: DeviceState,
    /// The facts from the device's last hello. None until the first.
    pub facts: Option<DeviceFacts>,
    /// The device's own grants, used where the policy file does not name it.
    pub own_grants: Grants,
    /// The backend's grants: the policy file's, else the device's own.
    pub grants: Grants,
    /// The most that the owner permits, as the device reported it. None until the first hello.
    pub ceiling: Option<Grants>,
    /// The other active terms.
    pub terms: ActiveTerms,
    /// The compiled policy. It denies everything until the first hello, because the device's path style is
    /// unknown until then.
    pub policy: Arc<Policy>,
    /// The time zone for the hours of rules.
    pub timezone: Timezone,
    /// The policy's encoded form, as the device receives it.
    pub policy_bytes: Arc<Vec<u8>>,
    /// Grants that have no effect on this device.
    pub bad_grants: Vec<BadEntry>,
    /// The device as everybody else finds it, where temporary grants widen the policy.
    pub widened_from: Option<Arc<DeviceSnapshot>>,
}

impl DeviceSnapshot {
    /// Returns the line of the policy file with the grants. `None` where the device has its own.
    #[must_use]
    pub fn policy_line(&self) -> Option<u32> {
        self.terms.policy.grants.as_ref().map(|(_, line)| *line)
    }

    /// Returns that line as people read it, such as `policy.yaml:12`; empty where the device has its own
    /// grants.
    #[must_use]
    pub fn policy_source(&self) -> String {
        self.policy_line().map(|line| format!("{FILE_NAME}:{line}")).unwrap_or_default()
    }

    /// Returns the device's labels: the policy file's, else those that are stored with it.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        self.terms.policy.labels.as_ref().unwrap_or(&self.terms.labels)
    }

    /// Returns an error that names the place where this device's grants are changed: the policy file, if it
    /// names the device. The device has no changeable grants of its own then.
    #[must_use]
    pub fn placed(&self, mut error: ToolError) -> ToolError {
        let Some(line) = self.policy_line() else { return error };
        let is_theirs = |hint: &&mut Hint| hint.command.as_deref().is_some_and(changes_own_grants);
        for hint in error.hints.iter_mut().filter(is_theirs) {
            hint.command = Some(format!(
                "orion policy show > {FILE_NAME}, change line {line} or the profile that it names, then orion policy apply {FILE_NAME}"
            ));
        }
        error
    }

    /// Returns the device as the calls of a tool by a person find it: with that person's temporary grants.
    #[must_use]
    pub fn for_calls(self: &Arc<Self>, tool: &ToolFacts<'_>, caller: &Caller) -> Arc<Self> {
        match self.policy.for_calls(tool, caller, self.timezone.moment(now_ms())) {
            Some(policy) => {
                let (policy, widened_from) = (Arc::new(policy), Some(Arc::clone(self)));
                Arc::new(Self { policy, widened_from, ..DeviceSnapshot::clone(self) })
            }
            None => Arc::clone(self),
        }
    }

    /// Returns the policy as a message to the device.
    #[must_use]
    pub fn policy_message(&self) -> ToDevice {
        ToDevice::Policy {
            version: self.policy.version.clone(),
            bytes: Arc::clone(&self.policy_bytes),
        }
    }

    /// Returns which tools run here: those of devices, or those of the backend.
    #[must_use]
    pub fn runs(&self) -> RunsOn {
        if self.id == DeviceId::BACKEND { RunsOn::Backend } else { RunsOn::Device }
    }

    /// Returns whether calls may be sent to the device.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        self.state == DeviceState::Approved
    }

    /// Returns whether the device's identity has ended for good.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.state, DeviceState::Rejected | DeviceState::Revoked)
    }

    /// Returns the tool of this name or alias, and the alias if it was one: a tool of the catalogue, or an
    /// approved one of this device.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<(&'static ToolSpec, Option<Alias>)> {
        let custom = || self.terms.custom.iter().find(|spec| spec.name == name);
        find(name).or_else(|| custom().map(|spec| (*spec, None)))
    }

    /// Returns the device's facts, as the policy linter needs them.
    #[must_use]
    pub fn policy_facts(&self) -> Option<orion_policy::Facts> {
        self.facts.as_ref().map(|facts| orion_policy::Facts {
            places: facts.places.clone(),
            folds_case: facts.os != Os::Linux,
            ceiling: self.ceiling.clone(),
        })
    }

    /// Returns the device's places. `None` until the first hello.
    #[must_use]
    pub fn places(&self) -> Option<&Places> {
        self.facts.as_ref().map(|facts| &facts.places)
    }
}
