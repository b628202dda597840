//! One device as the pipeline sees it: who it is, where its paths begin, and what holds there.

use std::sync::Arc;

use orion_domain::evaluate::{Mode, RiskDefaults};
use orion_domain::grants::BadEntry;
use orion_domain::rule::Rule;
use orion_domain::{DeviceId, DeviceName, Grants, Places, Policy};
use orion_wire::{DeviceFacts, DevicePolicy, Os, Timezone};

use super::ToDevice;
use crate::policy::FILE_NAME;
use crate::store::{DeviceState, ModeRow};

/// What the policy file says of one device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyTerms {
    /// What is lent, and where that stands in the file, where the file names the device.
    pub grants: Option<(Grants, u32)>,
    /// The rules that hold there.
    pub rules: Vec<Rule>,
    /// What each risk asks for by itself.
    pub risk: RiskDefaults,
    /// The time zone in which hours are meant, by its IANA name; empty for UTC.
    pub timezone: String,
    /// The file that holds cannot be read: then everything is denied.
    pub unreadable: bool,
}

/// What holds on a device besides what it has of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActiveTerms {
    /// What the policy file says.
    pub policy: PolicyTerms,
    /// Until when, and by whose word, it is not held strictly.
    pub dangerous: Option<ModeRow>,
    /// Rules that people made of an answer; they come after the file's.
    pub standing: Vec<Rule>,
}

/// See the module. Immutable: a change makes a new one.
#[derive(Debug, Clone)]
pub struct DeviceSnapshot {
    /// Which.
    pub id: DeviceId,
    /// Its name.
    pub name: DeviceName,
    /// The fingerprint of the key that was approved; empty where that is not known.
    pub key: String,
    /// Whether it may be used.
    pub state: DeviceState,
    /// What it said of itself when it was last connected.
    pub facts: Option<DeviceFacts>,
    /// What it is lent where the policy file does not name it.
    pub own_grants: Grants,
    /// What the backend lends: the file's word, else its own.
    pub grants: Grants,
    /// The most that its owner leaves, as it told.
    pub ceiling: Option<Grants>,
    /// What else holds there.
    pub terms: ActiveTerms,
    /// All of it compiled; denies all until the device was connected once, because until then
    /// nobody knows how its paths are written.
    pub policy: Arc<Policy>,
    /// By which clock the hours of its rules are told.
    pub timezone: Timezone,
    /// The policy as it is sent.
    pub policy_bytes: Arc<Vec<u8>>,
    /// Grants that say nothing on this device.
    pub bad_grants: Vec<BadEntry>,
}

impl DeviceSnapshot {
    /// Puts together what is known.
    #[must_use]
    pub fn new(
        id: DeviceId,
        name: DeviceName,
        state: DeviceState,
        facts: Option<DeviceFacts>,
        own_grants: Grants,
        ceiling: Option<Grants>,
        terms: ActiveTerms,
    ) -> Self {
        let grants = match &terms.policy {
            PolicyTerms { unreadable: true, .. } => Grants::default(),
            PolicyTerms { grants: Some((grants, _)), .. } => grants.clone(),
            PolicyTerms { grants: None, .. } => own_grants.clone(),
        };
        let sent = sent(&grants, &terms);
        let policy_bytes = sent.to_bytes();
        let version = DevicePolicy::version_of(&policy_bytes);
        let timezone = Timezone::named(&sent.timezone);
        let readable = timezone.is_ok() && !terms.policy.unreadable;
        let (policy, bad_grants) = match &facts {
            Some(facts) if readable => {
                let (scope, bad) = grants.compile(&facts.places);
                let ceiling = ceiling.as_ref().map(|ceiling| ceiling.compile(&facts.places).0);
                let rules = sent.rules.into_iter().map(|rule| rule.compile(&facts.places).0);
                let policy = Policy {
                    grants: scope,
                    ceiling,
                    rules: rules.collect(),
                    risk: sent.risk,
                    mode: sent.mode,
                    version,
                };
                (policy, bad)
            }
            Some(_) | None => (Policy { version, ..Policy::deny_all() }, Vec::new()),
        };
        Self {
            id,
            name,
            key: String::new(),
            state,
            facts,
            own_grants,
            grants,
            ceiling,
            terms,
            policy: Arc::new(policy),
            timezone: timezone.unwrap_or_default(),
            policy_bytes: Arc::new(policy_bytes),
            bad_grants,
        }
    }

    /// The same device as it would be by another word of the policy file, held strictly.
    #[must_use]
    pub fn under(&self, policy: PolicyTerms) -> Self {
        let known = self.clone();
        let terms = ActiveTerms { policy, dangerous: None, standing: known.terms.standing };
        Self::new(
            known.id,
            known.name,
            known.state,
            known.facts,
            known.own_grants,
            known.ceiling,
            terms,
        )
    }

    /// The same device with nothing allowed, here and there.
    #[must_use]
    pub fn denying_all(&self) -> Self {
        let policy = PolicyTerms { unreadable: true, ..PolicyTerms::default() };
        let terms = ActiveTerms { policy, ..ActiveTerms::default() };
        let known = self.clone();
        Self::new(
            known.id,
            known.name,
            known.state,
            known.facts,
            known.own_grants,
            known.ceiling,
            terms,
        )
    }

    /// The line of the policy file that lends the grants; `None` where the device has its own.
    #[must_use]
    pub fn policy_line(&self) -> Option<u32> {
        self.terms.policy.grants.as_ref().map(|(_, line)| *line)
    }

    /// The same as people read it, such as `policy.yaml:12`; empty where the device has its own.
    #[must_use]
    pub fn policy_source(&self) -> String {
        self.policy_line().map(|line| format!("{FILE_NAME}:{line}")).unwrap_or_default()
    }

    /// The policy as a message.
    #[must_use]
    pub fn policy_message(&self) -> ToDevice {
        ToDevice::Policy {
            version: self.policy.version.clone(),
            bytes: Arc::clone(&self.policy_bytes),
        }
    }

    /// Whether calls may be sent to it.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        self.state == DeviceState::Approved
    }

    /// Whether its identity is over for good.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.state, DeviceState::Rejected | DeviceState::Revoked)
    }

    /// What it has told of itself, as the linter of policy files takes it.
    #[must_use]
    pub fn policy_facts(&self) -> Option<orion_policy::Facts> {
        self.facts.as_ref().map(|facts| orion_policy::Facts {
            places: facts.places.clone(),
            folds_case: facts.os != Os::Linux,
        })
    }

    /// Where its paths begin, once it has said so.
    #[must_use]
    pub fn places(&self) -> Option<&Places> {
        self.facts.as_ref().map(|facts| &facts.places)
    }
}

/// What the device is told. Of a file that cannot be read it is told nothing, which denies all.
fn sent(grants: &Grants, terms: &ActiveTerms) -> DevicePolicy {
    let ActiveTerms { policy, dangerous, standing } = terms;
    if policy.unreadable {
        return DevicePolicy::default();
    }
    DevicePolicy {
        grants: grants.clone(),
        rules: policy.rules.iter().chain(standing).cloned().collect(),
        risk: policy.risk,
        mode: dangerous.as_ref().map_or(Mode::Safe, |mode| Mode::Dangerous { until: mode.until }),
        timezone: policy.timezone.clone(),
    }
}

#[cfg(test)]
mod tests {
    use orion_domain::rule::RuleAction;
    use serde_json::json;

    use super::*;
    use crate::clock::new_uuid;

    fn known(terms: ActiveTerms) -> DeviceSnapshot {
        let own = serde_json::from_value(json!({"tools": ["read_file"]})).unwrap();
        let facts = crate::fleet::presence::facts_from_json(
            r#"{"os":"linux","os_version":"","hostname":"","arch":"","sandbox":"","home":"/home/ann","workspace":"/home/ann"}"#,
        );
        assert!(facts.is_some());
        DeviceSnapshot::new(
            DeviceId::new(new_uuid()),
            "kiosk".parse().unwrap(),
            DeviceState::Approved,
            facts,
            own,
            None,
            terms,
        )
    }

    #[test]
    fn the_file_lends_what_it_names_and_a_device_keeps_its_own_otherwise() {
        let lent: Grants = serde_json::from_value(json!({"tools": ["open_app"]})).unwrap();
        let named = PolicyTerms { grants: Some((lent.clone(), 12)), ..PolicyTerms::default() };
        let named = known(ActiveTerms { policy: named, ..ActiveTerms::default() });
        assert_eq!((named.grants.clone(), named.policy_line()), (lent, Some(12)));
        let own = named.under(PolicyTerms::default());
        assert_eq!((&own.grants, own.policy_line()), (&own.own_grants, None));
        assert_eq!(own.policy.version, known(ActiveTerms::default()).policy.version);
        assert_ne!(own.policy.version, named.policy.version);
    }

    #[test]
    fn a_file_that_cannot_be_read_denies_all_here_and_there() {
        let policy = PolicyTerms { unreadable: true, ..PolicyTerms::default() };
        let standing = vec![Rule::new("x", RuleAction::Deny)];
        let known = known(ActiveTerms { policy, dangerous: None, standing });
        assert_eq!(*known.policy_bytes, DevicePolicy::default().to_bytes());
        assert!(
            known.policy.grants.allowed.is_empty() && !known.policy.grants.lists_tool("read_file")
        );
        assert_eq!(
            known.policy.grants.missing_capability(&[orion_domain::Capability::FileRead]),
            Some(orion_domain::Capability::FileRead)
        );
    }

    #[test]
    fn of_a_device_whose_record_cannot_be_read_nothing_is_allowed_until_it_is() {
        let policy = PolicyTerms { rules: Vec::new(), ..PolicyTerms::default() };
        let known = known(ActiveTerms { policy, ..ActiveTerms::default() });
        let fleet = crate::fleet::Fleet::default();
        let id = known.id;
        assert!(known.policy.grants.lists_tool("read_file"));
        fleet.cache(known.clone());
        fleet.mark_stale(id);
        let held = fleet.known(id).unwrap();
        assert!(!held.policy.grants.lists_tool("read_file"));
        assert_eq!(*held.policy_bytes, DevicePolicy::default().to_bytes());
        assert_ne!(held.policy.version, known.policy.version);
        assert_eq!(fleet.behind(), [id]);
        fleet.cache(known);
        fleet.mark_fresh(id);
        assert_eq!(fleet.behind(), []);
        assert!(fleet.known(id).unwrap().policy.grants.lists_tool("read_file"));
    }

    #[test]
    fn standing_rules_come_after_the_files_own() {
        let policy = PolicyTerms {
            rules: vec![Rule::new("file", RuleAction::Ask)],
            ..PolicyTerms::default()
        };
        let standing = vec![Rule::new("answer", RuleAction::Deny)];
        let known = known(ActiveTerms { policy, dangerous: None, standing });
        let ids: Vec<_> = known.policy.rules.iter().map(|it| it.rule.id.as_str()).collect();
        assert_eq!(ids, ["file", "answer"]);
    }
}
