//! Enrollment: invitations, their redemption, approval and certificates, until a device's identity ends.

pub mod by_code;
mod error;
mod invitation;
mod issue;
mod redemption;

use std::sync::Arc;
use std::time::Duration;

use orion_domain::{Caller, Digest};
use orion_mtls::IssuedCertificate;

use super::effective_policy::refresh;
use super::{Authority, Devices};
use crate::clock::now_ms;
use crate::store::{DeviceRow, DeviceState, StoreError};

pub use error::EnrollError;
pub use invitation::{Invitation, MAX_USES, invite};
use issue::give_again;
pub use issue::{Late, renew};
pub use redemption::{Admission, Applicant, enroll};

/// What enrolls devices and issues their certificates.
#[derive(Debug, Clone)]
pub struct Enrollment {
    /// The devices.
    pub devices: Devices,
    /// The certificate authorities of devices and of this backend.
    pub authority: Arc<Authority>,
    /// The addresses that enrolment tokens give to devices, `host:port`.
    pub addresses: Vec<String>,
    /// Lifetime of a device's certificate, in seconds.
    pub certificate_seconds: u32,
    /// For how long after its end a device may renew its certificate.
    pub renew_within: Duration,
    /// The devices that ask to be enrolled by a code.
    pub by_code: Arc<by_code::ByCode>,
}

/// Returns a pending device's state, and its certificate once it is approved.
///
/// # Errors
/// The ticket does not belong to this device, or the store failed.
pub async fn status(
    enrollment: &Enrollment,
    device: &str,
    ticket: &str,
) -> Result<(DeviceRow, Option<IssuedCertificate>), EnrollError> {
    let row = match enrollment.devices.store.device(device).await {
        Ok(row) => row,
        Err(StoreError::NotFound) => return Err(EnrollError::Ticket),
        Err(error) => return Err(error.into()),
    };
    if row.ticket_hash != Some(Digest::of(ticket.as_bytes())) {
        return Err(EnrollError::Ticket);
    }
    let certificate = match row.state {
        DeviceState::Approved => Some(give_again(enrollment, &row).await?),
        DeviceState::Pending
        | DeviceState::Rejected
        | DeviceState::Quarantined
        | DeviceState::Revoked => None,
    };
    Ok((row, certificate))
}

/// Reloads the authorities from the data folder, and audits a change.
pub async fn keep_authorities(enrollment: &Enrollment, now: i64) -> usize {
    let lifetime = i64::from(enrollment.certificate_seconds) * 1000;
    if enrollment.authority.takes_long(lifetime, now) {
        tracing::warn!(
            "two authorities have been trusted for longer than a certificate is valid; run `orion-server ca retire`"
        );
    }
    if !enrollment.authority.keep(now) {
        return 0;
    }
    let fingerprints = enrollment.authority.fingerprints();
    tracing::warn!(authorities = fingerprints.join(" "), "the trusted authorities changed");
    if let Err(error) = enrollment.devices.store.record_authorities(fingerprints, now).await {
        // They count all the same; the next start records them.
        tracing::error!(%error, "the change of authorities could not be recorded");
    }
    1
}

/// Changes a device's state for a person. A change that takes away the device's rights also ends its link
/// immediately.
///
/// # Errors
/// The device does not exist, its state does not allow the change, or the store failed.
pub async fn set_state(
    devices: &Devices,
    device: &str,
    from: &[DeviceState],
    to: DeviceState,
    by: &Caller,
    reason: &str,
) -> Result<DeviceRow, StoreError> {
    let id = devices.store.device(device).await?.id;
    let reason: String = reason.chars().take(500).collect();
    let (shared, from, by) = (devices.clone(), from.to_vec(), by.user.clone());
    let work = async move {
        let changed = shared.store.set_device_state(id, &from, to, &by, &reason, now_ms()).await;
        // The state may be stored already, but not cached.
        if !matches!(changed, Ok(_) | Err(StoreError::Conflict)) {
            return changed;
        }
        let row = refresh(&shared, id).await?;
        changed.map(|_| row)
    };
    devices.tasks.run_to_completion(work).await
}
