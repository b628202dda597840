//! Accepts devices that say hello, and stores and caches what they report of themselves.

use std::sync::Arc;
use std::time::Instant;

use orion_domain::{DeviceId, DevicePath, Grants, Places};
use orion_mtls::{DeviceIdentity, Fingerprint};
use orion_wire::{DeviceFacts, Os};
use serde::{Deserialize, Serialize};

use super::effective_policy::refresh;
use super::{DeviceSnapshot, Devices};
use crate::bus::Change;
use crate::clock::now_ms;
use crate::store::{DeviceState, Hello, HelloError, StoreError};

/// A device's hello, checked.
#[derive(Debug)]
pub struct DeviceHello {
    /// The device's operating system, host and places.
    pub facts: DeviceFacts,
    /// The ceiling: the most that the device's owner permits.
    pub ceiling: Grants,
    /// The agent's version.
    pub agent_version: String,
    /// The connection counter, which grows with every connection.
    pub generation: u64,
    /// The authorities that the device trusts. Empty where an older agent does not report them.
    pub trusts: Vec<Fingerprint>,
}

/// The ceiling that a connected device reports after its owner changed it.
#[derive(Debug)]
pub struct CeilingTold {
    /// The most that the owner permits.
    pub ceiling: Grants,
    /// The folder where relative paths start; empty where nothing is permitted.
    pub workspace: String,
    /// Why the ceiling differs from the owner's file; empty where it does not.
    pub fault: String,
}

/// Why a ceiling was not stored.
#[derive(Debug, thiserror::Error)]
pub enum CeilingError {
    /// The device never sent a hello, or its workspace is not a valid path there.
    #[error("the workspace cannot be read")]
    Workspace,
    /// The store failed.
    #[error("the database could not be written")]
    Store(#[from] StoreError),
}

/// Why an authenticated device is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The device is not in the database.
    #[error("the backend does not know this device; enrol it again")]
    Unknown,
    /// The device is not approved.
    #[error("this device is {}; an admin of the backend decides what becomes of it", .0.as_str())]
    Held(DeviceState),
    /// The certificate is for another key than the approved one.
    #[error(
        "this certificate is for another key than this device enrolled with; enrol it again with a token of `orion devices invite`"
    )]
    OtherKey,
    /// A newer connection of the same device has said hello already.
    #[error("a newer connection of this device has taken over")]
    Overtaken,
    /// The connection counter ran backwards.
    #[error(
        "this device's connection counter ran backwards, as it does when a state folder was copied or restored. It is in quarantine, and so is its copy: an admin of the backend approves it again, or revokes it so that it is enrolled again"
    )]
    Copied,
    /// The store failed.
    #[error("the database could not be written")]
    Store(#[from] StoreError),
}

/// A device's facts, as the database stores them.
#[derive(Serialize, Deserialize)]
struct RecordedFacts {
    os: String,
    os_version: String,
    hostname: String,
    arch: String,
    sandbox: String,
    home: Option<String>,
    workspace: Option<String>,
}

/// Converts a device's facts to JSON for the database.
#[must_use]
pub fn facts_to_json(facts: &DeviceFacts) -> String {
    let text = |path: &Option<DevicePath>| path.as_ref().map(ToString::to_string);
    serde_json::to_string(&RecordedFacts {
        os: facts.os.as_str().to_owned(),
        os_version: facts.os_version.clone(),
        hostname: facts.hostname.clone(),
        arch: facts.arch.clone(),
        sandbox: facts.sandbox.clone(),
        home: text(&facts.places.home),
        workspace: text(&facts.places.workspace),
    })
    .unwrap_or_default()
}

/// Parses a device's facts from the database. `None` where they cannot be read: everything is denied then.
#[must_use]
pub fn facts_from_json(json: &str) -> Option<DeviceFacts> {
    let recorded: RecordedFacts = serde_json::from_str(json).ok()?;
    let os =
        [Os::Linux, Os::Macos, Os::Windows].into_iter().find(|os| os.as_str() == recorded.os)?;
    let places =
        Places::parse(os.path_style(), recorded.workspace.as_deref(), recorded.home.as_deref())
            .ok()?;
    Some(DeviceFacts {
        os,
        os_version: recorded.os_version,
        hostname: recorded.hostname,
        arch: recorded.arch,
        sandbox: recorded.sandbox,
        places,
    })
}

/// Checks that a certificate is for the approved key. A certificate that names the device and has another key
/// was not issued here, whoever signed it.
///
/// # Errors
/// [`ConnectError`].
pub async fn recognise(
    devices: &Devices,
    id: DeviceId,
    identity: &DeviceIdentity,
) -> Result<(), ConnectError> {
    let key = identity.public_key_fingerprint.to_string();
    if devices.fleet.known(id).is_some_and(|known| known.key == key) {
        return Ok(());
    }
    let row = match devices.store.device_by_id(id).await {
        Ok(row) => row,
        Err(StoreError::NotFound) => return Err(ConnectError::Unknown),
        Err(error) => return Err(error.into()),
    };
    if key == row.public_key_fingerprint { Ok(()) } else { Err(ConnectError::OtherKey) }
}

/// Accepts a device that showed its certificate and said hello, on a connection that began at `since` with
/// the certificate of this serial number.
///
/// # Errors
/// [`ConnectError`].
pub async fn accept(
    devices: &Devices,
    id: DeviceId,
    since: Instant,
    serial: String,
    greeting: DeviceHello,
) -> Result<Arc<DeviceSnapshot>, ConnectError> {
    let DeviceHello { facts, ceiling, agent_version, generation, trusts } = greeting;
    let trusts: Vec<_> = trusts.iter().map(ToString::to_string).collect();
    let facts = facts_to_json(&facts);
    let hello = Hello {
        trusts: (!trusts.is_empty()).then(|| trusts.join(" ")),
        facts: facts.clone(),
        ceiling: serde_json::to_string(&ceiling).unwrap_or_default(),
        agent_version,
        generation: i64::try_from(generation).unwrap_or(i64::MAX),
        serial,
        since,
        at: now_ms(),
    };
    match devices.store.record_hello(id, hello).await {
        Ok(()) => {}
        Err(HelloError::Store(StoreError::NotFound)) => return Err(ConnectError::Unknown),
        Err(HelloError::Held(state)) => return Err(ConnectError::Held(state)),
        Err(HelloError::Overtaken) => return Err(ConnectError::Overtaken),
        Err(HelloError::GenerationBackwards) => {
            quarantine_copies(devices, id).await?;
            return Err(ConnectError::Copied);
        }
        Err(HelloError::Store(error)) => return Err(error.into()),
    }
    // A snapshot that matches the hello is reused: other changes reload it themselves, and thousands of
    // devices may reconnect at once. The hello is compared with the snapshot, not with the row: a device that
    // hung up in between left a row that was never cached.
    let cached = devices.fleet.current(id).filter(|known| {
        known.is_approved()
            && known.ceiling.as_ref() == Some(&ceiling)
            && known.facts.as_ref().map(facts_to_json).as_ref() == Some(&facts)
    });
    if let Some(known) = cached {
        return Ok(known);
    }
    refresh(devices, id).await?;
    let known = devices.fleet.known(id).ok_or(ConnectError::Unknown)?;
    // The approval may have been withdrawn at this moment.
    if known.is_approved() { Ok(known) } else { Err(ConnectError::Held(known.state)) }
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
    let CeilingTold { ceiling, workspace, fault } = report;
    let facts = devices.fleet.known(id).and_then(|known| known.facts.clone());
    let mut facts = facts.ok_or(CeilingError::Workspace)?;
    let start = (!workspace.is_empty()).then_some(&workspace);
    let start = start.map(|text| DevicePath::parse(facts.places.style, text)).transpose();
    facts.places.workspace = start.map_err(|_| CeilingError::Workspace)?;
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

/// Quarantines a device and its copy, which cannot be told apart, until an admin decides.
async fn quarantine_copies(devices: &Devices, id: DeviceId) -> Result<(), StoreError> {
    tracing::warn!(device = %id, "a connection counter ran backwards; the device is quarantined");
    let (from, to) = ([DeviceState::Approved], DeviceState::Quarantined);
    let why = "its connection counter ran backwards: its state was copied or restored";
    match devices.store.set_device_state(id, &from, to, None, why, now_ms()).await {
        // The other one of the two was quarantined first.
        Ok(_) | Err(StoreError::Conflict) => {}
        Err(error) => return Err(error),
    }
    refresh(devices, id).await.map(drop)
}

/// Records that a device has disconnected.
pub async fn disconnected(devices: &Devices, id: DeviceId) {
    if let Err(error) = devices.store.touch_device(id, now_ms()).await {
        tracing::warn!(device = %id, %error, "when the device was last seen could not be recorded");
    }
    devices.bus.publish(Change::Device(id));
}
