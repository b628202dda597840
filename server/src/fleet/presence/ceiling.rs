//! Stores and activates a ceiling that its owner changed while the device is connected.

use std::collections::HashMap;

use orion_domain::{DeviceId, DevicePath, Grants};

use super::facts::facts_to_json;
use crate::clock::now_ms;
use crate::fleet::Devices;
use crate::fleet::effective_policy::refresh;
use crate::store::StoreError;

/// The ceiling that a connected device reports after its owner changed it.
#[derive(Debug)]
pub struct CeilingTold {
    /// The most that the owner permits.
    pub ceiling: Grants,
    /// The folder where relative paths start; empty where nothing is permitted.
    pub workspace: String,
    /// The owner's projects by name.
    pub projects: HashMap<String, String>,
    /// Why the ceiling differs from the owner's file; empty where it does not.
    pub fault: String,
}

/// Why a ceiling was not stored.
#[derive(Debug, thiserror::Error)]
pub enum CeilingError {
    /// The device never sent a hello, or its workspace is not a valid path there.
    #[error("the workspace cannot be read")]
    Workspace,
    /// A project has no plain name or no valid path there.
    #[error("the projects cannot be read")]
    Projects,
    /// The store failed.
    #[error("the database could not be written")]
    Store(#[from] StoreError),
}

/// Stores and activates a ceiling that changed while the device is connected.
///
/// # Errors
/// [`CeilingError`]; nothing has changed then.
pub async fn ceiling_reported(
    devices: &Devices,
    id: DeviceId,
    report: CeilingTold,
) -> Result<(), CeilingError> {
    let CeilingTold { ceiling, workspace, projects, fault } = report;
    let facts = devices.fleet.known(id).and_then(|known| known.facts.clone());
    let mut facts = facts.ok_or(CeilingError::Workspace)?;
    let start = (!workspace.is_empty()).then_some(&workspace);
    let start = start.map(|text| DevicePath::parse(facts.places.style, text)).transpose();
    facts.places.workspace = start.map_err(|_| CeilingError::Workspace)?;
    let projects = orion_wire::projects(facts.places.style, &projects);
    facts.places.projects = projects.map_err(|_| CeilingError::Projects)?;
    if fault.is_empty() {
        tracing::info!(device = %id, "the owner changed the ceiling");
    } else {
        tracing::warn!(device = %id, fault, "the owner's file cannot be taken as it stands");
    }
    let ceiling = serde_json::to_string(&ceiling).unwrap_or_default();
    let facts = facts_to_json(&facts);
    devices.store.record_ceiling(id, &facts, &ceiling, &fault, now_ms()).await?;
    refresh(devices, id).await?;
    Ok(())
}
