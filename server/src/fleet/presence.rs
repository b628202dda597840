//! Accepts devices that say hello, and stores and caches what they report of themselves.

mod ceiling;
mod error;
mod facts;

use std::sync::Arc;
use std::time::Instant;

use orion_domain::{DeviceId, Grants};
use orion_mtls::{DeviceIdentity, Fingerprint};
use orion_wire::DeviceFacts;

use super::effective_policy::refresh;
use super::{DeviceSnapshot, Devices};
use crate::bus::Change;
use crate::clock::now_ms;
use crate::store::{DeviceState, Hello, HelloError, Return, StoreError};

pub use ceiling::{CeilingError, CeilingTold, ceiling_reported};
pub use error::ConnectError;
pub use facts::{facts_from_json, facts_to_json};

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
    let recorded = devices.store.record_hello(id, hello).await;
    checked(devices, id, recorded).await?;
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

/// Records that a device came back after its certificate had expired. Like its hello, this counts as a connection,
/// so that a copy gets no certificate.
///
/// # Errors
/// [`ConnectError`].
pub async fn returned(
    devices: &Devices,
    id: DeviceId,
    identity: &DeviceIdentity,
    generation: u64,
    since: Instant,
) -> Result<(), ConnectError> {
    let back = Return {
        generation: i64::try_from(generation).unwrap_or(i64::MAX),
        since,
        serial: identity.serial_hex.clone(),
        expired_at: identity.not_after_ms,
        at: now_ms(),
    };
    let recorded = devices.store.record_return(id, back).await;
    checked(devices, id, recorded).await
}

/// Returns why a device is not accepted, and quarantines it with its copy where there is one.
async fn checked(
    devices: &Devices,
    id: DeviceId,
    recorded: Result<(), HelloError>,
) -> Result<(), ConnectError> {
    match recorded {
        Ok(()) => Ok(()),
        Err(HelloError::Store(StoreError::NotFound)) => Err(ConnectError::Unknown),
        Err(HelloError::Held(state)) => Err(ConnectError::Held(state)),
        Err(HelloError::Overtaken) => Err(ConnectError::Overtaken),
        Err(HelloError::GenerationBackwards) => {
            quarantine_copies(devices, id).await?;
            Err(ConnectError::Copied)
        }
        Err(HelloError::Store(error)) => Err(error.into()),
    }
}

/// Quarantines a device and its copy, because nothing distinguishes them, until an admin decides.
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
    match devices.store.touch_device(id, now_ms()).await {
        // A device that was removed is seen no more.
        Ok(()) | Err(StoreError::NotFound) => {}
        Err(error) => {
            tracing::warn!(device = %id, %error, "when the device was last seen could not be recorded");
        }
    }
    devices.bus.publish(Change::Device(id));
}
