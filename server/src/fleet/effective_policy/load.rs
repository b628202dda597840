//! Reads the active terms of devices from the store and caches the devices with them. Sends nothing to the
//! devices.

use std::collections::HashMap;

use orion_domain::{DeviceId, Rule, TemporaryGrant};

use crate::clock::now_ms;
use crate::fleet::custom_tools::{pending, usable};
use crate::fleet::{ActiveTerms, DeviceSnapshot, Devices};
use crate::store::{CustomToolRow, DeviceRow, ModeRow, StoreError};

/// The modes and standing rules of all devices, read at once.
pub(super) struct ActivePolicy {
    modes: HashMap<DeviceId, ModeRow>,
    rules: HashMap<DeviceId, Vec<Rule>>,
    temporary: HashMap<DeviceId, Vec<TemporaryGrant>>,
    tools: HashMap<DeviceId, Vec<CustomToolRow>>,
}

impl ActivePolicy {
    pub(super) async fn read(devices: &Devices) -> Result<Self, StoreError> {
        let modes = devices.store.device_modes().await?;
        let rules = devices.store.standing_rules_by_device(now_ms()).await?;
        let temporary = devices.store.temporary_grants_by_device(now_ms()).await?;
        Ok(Self { modes, rules, temporary, tools: devices.store.custom_tools().await? })
    }

    /// Returns the terms that are active on this device now.
    pub(super) fn terms(&mut self, devices: &Devices, row: &DeviceRow) -> ActiveTerms {
        let dangerous = self.modes.remove(&row.id).filter(|mode| mode.until > now_ms());
        let policy = devices.policies.active().terms(&row.name, &row.labels);
        let tools = self.tools.remove(&row.id).unwrap_or_default();
        ActiveTerms {
            policy,
            labels: row.labels.clone(),
            dangerous,
            standing: self.rules.remove(&row.id).unwrap_or_default(),
            temporary: self.temporary.remove(&row.id).unwrap_or_default(),
            custom: usable(&tools),
            undecided: pending(&tools),
            writes_disabled: devices.policies.writes_disabled,
        }
    }
}

/// Caches every device of the store.
///
/// # Errors
/// The store failed.
pub async fn load_all(devices: &Devices) -> Result<(), StoreError> {
    let mut active = ActivePolicy::read(devices).await?;
    for row in devices.store.devices(false).await? {
        let terms = active.terms(devices, &row);
        cache_with(devices, &row, terms);
    }
    Ok(())
}

/// Reads the active terms of one device.
pub(super) async fn terms(devices: &Devices, row: &DeviceRow) -> Result<ActiveTerms, StoreError> {
    let now = now_ms();
    let dangerous = devices.store.device_mode(row.id).await?.filter(|mode| mode.until > now);
    let policy = devices.policies.active().terms(&row.name, &row.labels);
    let standing = devices.store.standing_rules_of(row.id, now).await?;
    let temporary = devices.store.temporary_grants_of(row.id, now).await?;
    let tools = devices.store.custom_tools_of(row.id).await?;
    let (custom, undecided) = (usable(&tools), pending(&tools));
    let writes_disabled = devices.policies.writes_disabled;
    Ok(ActiveTerms {
        policy,
        labels: row.labels.clone(),
        dangerous,
        standing,
        temporary,
        writes_disabled,
        custom,
        undecided,
    })
}

pub(super) fn cache_with(devices: &Devices, row: &DeviceRow, terms: ActiveTerms) {
    let facts = row.facts.as_deref().and_then(crate::fleet::presence::facts_from_json);
    // Grants and a ceiling that cannot be parsed grant nothing.
    let grants = serde_json::from_str(&row.grants).unwrap_or_default();
    let ceiling = row.ceiling.as_deref().map(|json| serde_json::from_str(json).unwrap_or_default());
    let known =
        DeviceSnapshot::new(row.id, row.name.clone(), row.state, facts, grants, ceiling, terms);
    devices.fleet.cache(DeviceSnapshot { key: row.public_key_fingerprint.clone(), ..known });
}
