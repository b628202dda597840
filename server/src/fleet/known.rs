//! One device as the pipeline sees it: who it is, where its paths begin, and what holds there.

use std::sync::Arc;

use orion_domain::grants::BadEntry;
use orion_domain::{DeviceId, DeviceName, Grants, Places, Policy};
use orion_wire::{DeviceFacts, DevicePolicy, Timezone};

use super::ToDevice;
use crate::store::DeviceState;

/// See the module. Immutable: a change makes a new one.
#[derive(Debug, Clone)]
pub struct Known {
    /// Which.
    pub id: DeviceId,
    /// Its name.
    pub name: DeviceName,
    /// Whether it may be used.
    pub state: DeviceState,
    /// What it said of itself when it was last connected.
    pub facts: Option<DeviceFacts>,
    /// What the backend lends.
    pub grants: Grants,
    /// The most that its owner leaves, as it told.
    pub ceiling: Option<Grants>,
    /// Both compiled; denies all until the device was connected once, because until then nobody
    /// knows how its paths are written.
    pub policy: Arc<Policy>,
    /// By which clock the hours of its rules are told.
    pub timezone: Timezone,
    /// The policy as it is sent.
    pub policy_bytes: Arc<Vec<u8>>,
    /// Grants that say nothing on this device.
    pub bad_grants: Vec<BadEntry>,
}

impl Known {
    /// Puts together what is known.
    #[must_use]
    pub fn new(
        id: DeviceId,
        name: DeviceName,
        state: DeviceState,
        facts: Option<DeviceFacts>,
        grants: Grants,
        ceiling: Option<Grants>,
    ) -> Self {
        let sent = DevicePolicy { grants: grants.clone(), ..DevicePolicy::default() };
        let policy_bytes = sent.to_bytes();
        let version = DevicePolicy::version_of(&policy_bytes);
        let timezone = Timezone::named(&sent.timezone);
        let (policy, bad_grants) = match (&facts, &timezone) {
            (None, _) | (Some(_), Err(_)) => (Policy { version, ..Policy::deny_all() }, Vec::new()),
            (Some(facts), Ok(_)) => {
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
        };
        Self {
            id,
            name,
            state,
            facts,
            grants,
            ceiling,
            policy: Arc::new(policy),
            timezone: timezone.unwrap_or_default(),
            policy_bytes: Arc::new(policy_bytes),
            bad_grants,
        }
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

    /// Where its paths begin, once it has said so.
    #[must_use]
    pub fn places(&self) -> Option<&Places> {
        self.facts.as_ref().map(|facts| &facts.places)
    }
}
