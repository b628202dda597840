//! Compiles the policy of a device from its grants, its ceiling and the active terms.

use std::sync::Arc;

use orion_domain::evaluate::Mode;
use orion_domain::{DeviceId, DeviceName, Grants, Policy};
use orion_wire::{DeviceFacts, DevicePolicy, Timezone};

use super::{ActiveTerms, DeviceSnapshot};
use crate::active_policy::PolicyTerms;
use crate::store::DeviceState;

impl DeviceSnapshot {
    /// Creates a snapshot and compiles its policy.
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
        let rules = terms.policy.rules.iter().chain(&terms.standing).cloned();
        let sent = sent(&grants, &terms);
        let policy_bytes = sent.to_bytes();
        let version = DevicePolicy::version_of(&policy_bytes);
        let timezone = Timezone::named(&sent.timezone);
        let readable = timezone.is_ok() && !terms.policy.unreadable;
        let (policy, bad_grants) = match &facts {
            Some(facts) if readable => {
                let (scope, bad) = grants.compile(&facts.places);
                let ceiling = ceiling.as_ref().map(|ceiling| ceiling.compile(&facts.places).0);
                let rules = rules.map(|rule| rule.compile(&facts.places).0);
                let style = facts.places.style;
                let policy = Policy {
                    grants: scope,
                    temporary: sent.temporary.into_iter().map(|it| it.compile(style)).collect(),
                    granted_by: Vec::new(),
                    ceiling,
                    owner_file: facts.places.owner_file.clone(),
                    rules: rules.collect(),
                    risk: terms.policy.risk,
                    mode: sent.mode,
                    writes_disabled: terms.writes_disabled,
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
            widened_from: None,
        }
    }

    /// Returns the device under other terms of the policy file, with the dangerous mode off and changes
    /// possible.
    #[must_use]
    pub fn under(&self, policy: PolicyTerms) -> Self {
        let writes_disabled = false;
        self.with_terms(ActiveTerms {
            policy,
            dangerous: None,
            writes_disabled,
            ..self.terms.clone()
        })
    }

    /// Returns the device with nothing allowed, at the backend and at the device.
    #[must_use]
    pub fn denying_all(&self) -> Self {
        let policy = PolicyTerms { unreadable: true, ..PolicyTerms::default() };
        self.with_terms(ActiveTerms { policy, ..ActiveTerms::default() })
    }

    fn with_terms(&self, terms: ActiveTerms) -> Self {
        let Self { id, name, state, facts, own_grants, ceiling, .. } = self.clone();
        Self::new(id, name, state, facts, own_grants, ceiling, terms)
    }
}

/// Returns the policy that the device receives. An unreadable file results in an empty policy, which denies
/// everything.
fn sent(grants: &Grants, terms: &ActiveTerms) -> DevicePolicy {
    let ActiveTerms { policy, dangerous, standing, temporary, .. } = terms;
    if policy.unreadable {
        return DevicePolicy::default();
    }
    DevicePolicy {
        grants: grants.clone(),
        temporary: temporary.clone(),
        // What decides nothing concerns the backend alone.
        rules: policy.rules.iter().chain(standing).filter(|it| it.decides()).cloned().collect(),
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
    use orion_domain::rule::Rule;

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
        let granted: Grants = serde_json::from_value(json!({"tools": ["open_app"]})).unwrap();
        let named = PolicyTerms { grants: Some((granted.clone(), 12)), ..PolicyTerms::default() };
        let named = known(ActiveTerms { policy: named, ..ActiveTerms::default() });
        assert_eq!((named.grants.clone(), named.policy_line()), (granted, Some(12)));
        let own = named.under(PolicyTerms::default());
        assert_eq!((&own.grants, own.policy_line()), (&own.own_grants, None));
        assert_eq!(own.policy.version, known(ActiveTerms::default()).policy.version);
        assert_ne!(own.policy.version, named.policy.version);
    }

    #[test]
    fn a_file_that_cannot_be_read_denies_all_here_and_there() {
        let policy = PolicyTerms { unreadable: true, ..PolicyTerms::default() };
        let standing = vec![Rule::new("x", RuleAction::Deny)];
        let known = known(ActiveTerms { policy, standing, ..ActiveTerms::default() });
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
        let known = known(ActiveTerms { policy, standing, ..ActiveTerms::default() });
        let ids: Vec<_> = known.policy.rules.iter().map(|it| it.rule.id.as_str()).collect();
        assert_eq!(ids, ["file", "answer"]);
    }
}
