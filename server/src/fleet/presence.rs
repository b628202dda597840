//! A device says hello, and what it said is taken into the record and the fleet.

use std::sync::Arc;
use std::time::Instant;

use orion_domain::{DeviceId, DevicePath, Grants, Places};
use orion_mtls::{DeviceIdentity, Fingerprint};
use orion_wire::{DeviceFacts, Os};
use serde::{Deserialize, Serialize};

use super::{DeviceSnapshot, enrollment};
use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::store::{DeviceState, Hello, HelloError, StoreError};

/// What a device said of itself, checked.
#[derive(Debug)]
pub struct DeviceHello {
    /// What it is.
    pub facts: DeviceFacts,
    /// What its owner leaves at most.
    pub ceiling: Grants,
    /// Its agent's version.
    pub agent_version: String,
    /// Counts up with every connection.
    pub generation: u64,
    /// The authorities that it trusts; nothing where an older agent does not tell.
    pub trusts: Vec<Fingerprint>,
}

/// What a connected device says of a ceiling that its owner changed.
#[derive(Debug)]
pub struct CeilingTold {
    /// What the owner leaves at most.
    pub ceiling: Grants,
    /// Where relative paths start by it; empty when nothing is allowed.
    pub workspace: String,
    /// Why that is not what the owner's file says; empty where it is.
    pub fault: String,
}

/// Why a ceiling was not taken.
#[derive(Debug, thiserror::Error)]
pub enum CeilingError {
    /// The device never greeted, or its workspace is no path there.
    #[error("the workspace cannot be read")]
    Workspace,
    /// The record cannot be kept.
    #[error("the record could not be written")]
    Store(#[from] StoreError),
}

/// Why a device that is who it says is not welcome.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Not in the record.
    #[error("this device is not in the backend's record; enrol it anew")]
    Unknown,
    /// Held back by a person.
    #[error("this device is {}; an admin of the backend decides what becomes of it", .0.as_str())]
    Held(DeviceState),
    /// The certificate is for another key than the one that was approved.
    #[error(
        "this certificate is for another key than this device enrolled with; enrol it anew with a token of `orion devices invite`"
    )]
    OtherKey,
    /// A newer connection of the same device has greeted already.
    #[error("a newer connection of this device has taken over")]
    Overtaken,
    /// The counter ran backwards.
    #[error(
        "this device's connection counter ran backwards, as it does when a state folder was copied or restored. It is in quarantine, and so is its copy: an admin of the backend approves it again, or revokes it so that it is enrolled anew"
    )]
    Copied,
    /// The record cannot be kept.
    #[error("the record could not be written")]
    Store(#[from] StoreError),
}

/// The facts as they stand in the record.
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

/// Facts for the record.
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

/// Facts from the record; none where they cannot be read, and then everything is denied.
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

/// Sees that a certificate is for the key that was approved: one that names the device and is for
/// another key was not made here, whoever signed it.
///
/// # Errors
/// See [`NotWelcome`].
pub async fn recognise(
    backend: &Backend,
    id: DeviceId,
    identity: &DeviceIdentity,
) -> Result<(), ConnectError> {
    let key = identity.public_key_fingerprint.to_string();
    if backend.fleet.known(id).is_some_and(|known| known.key == key) {
        return Ok(());
    }
    let row = match backend.store.device_by_id(id).await {
        Ok(row) => row,
        Err(StoreError::NotFound) => return Err(ConnectError::Unknown),
        Err(error) => return Err(error.into()),
    };
    if key == row.public_key_fingerprint { Ok(()) } else { Err(ConnectError::OtherKey) }
}

/// Lets a device in that showed its certificate and said hello, on a connection that began at `since`
/// with the certificate of this serial number.
///
/// # Errors
/// See [`NotWelcome`].
pub async fn accept(
    backend: &Backend,
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
    match backend.store.record_hello(id, hello).await {
        Ok(()) => {}
        Err(HelloError::Store(StoreError::NotFound)) => return Err(ConnectError::Unknown),
        Err(HelloError::Held(state)) => return Err(ConnectError::Held(state)),
        Err(HelloError::Overtaken) => return Err(ConnectError::Overtaken),
        Err(HelloError::GenerationBackwards) => {
            quarantine_copies(backend, id).await?;
            return Err(ConnectError::Copied);
        }
        Err(HelloError::Store(error)) => return Err(error.into()),
    }
    // Whatever else changes is taken in by who changes it, and thousands may come back at once. What is
    // compared is what was taken in: who hung up in between left a record of which nobody knows.
    let taken_in = backend.fleet.current(id).filter(|known| {
        known.is_approved()
            && known.ceiling.as_ref() == Some(&ceiling)
            && known.facts.as_ref().map(facts_to_json).as_ref() == Some(&facts)
    });
    if let Some(known) = taken_in {
        return Ok(known);
    }
    enrollment::refresh(backend, id).await?;
    let known = backend.fleet.known(id).ok_or(ConnectError::Unknown)?;
    // It may have been taken away in this very moment.
    if known.is_approved() { Ok(known) } else { Err(ConnectError::Held(known.state)) }
}

/// Takes a ceiling that was changed while the device is connected: recorded, and what calls are judged
/// by from here on.
///
/// # Errors
/// See [`CeilingError`]; then nothing has changed.
pub async fn ceiling_reported(
    backend: &Backend,
    id: DeviceId,
    told: CeilingTold,
) -> Result<(), CeilingError> {
    let CeilingTold { ceiling, workspace, fault } = told;
    let facts = backend.fleet.known(id).and_then(|known| known.facts.clone());
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
    backend.store.record_ceiling(id, &facts, &ceiling, &fault, now_ms()).await?;
    enrollment::refresh(backend, id).await?;
    Ok(())
}

/// Nobody can tell a device from its copy, so both are held back until an admin looks.
async fn quarantine_copies(backend: &Backend, id: DeviceId) -> Result<(), StoreError> {
    tracing::warn!(device = %id, "a connection counter ran backwards; the device is quarantined");
    let (from, to) = ([DeviceState::Approved], DeviceState::Quarantined);
    let why = "its connection counter ran backwards: its state was copied or restored";
    match backend.store.set_device_state(id, &from, to, None, why, now_ms()).await {
        // Another of the two was noticed first.
        Ok(_) | Err(StoreError::Conflict) => {}
        Err(error) => return Err(error),
    }
    enrollment::refresh(backend, id).await.map(drop)
}

/// The device has gone.
pub async fn disconnected(backend: &Backend, id: DeviceId) {
    if let Err(error) = backend.store.touch_device(id, now_ms()).await {
        tracing::warn!(device = %id, %error, "when the device was last seen could not be recorded");
    }
    backend.bus.publish(Change::Device(id));
}
