//! Issues device certificates: the first, the same again where the response was lost, and renewals.

use std::time::{Duration, Instant};

use orion_mtls::{Authorities, DeviceIdentity, IssuedCertificate, VerifiedCsr};

use super::{EnrollError, Enrollment};
use crate::clock::now_ms;
use crate::fleet::presence;
use crate::store::{DeviceRow, DeviceState, StoreError};

/// A device that asks for a certificate after the end of the one that it shows.
#[derive(Debug, Clone, Copy)]
pub struct Late {
    /// Its count of connections.
    pub generation: u64,
    /// When its connection began.
    pub since: Instant,
}

/// Renews a device's certificate for the same key. The old certificate stays valid until it expires.
///
/// # Errors
/// The device is not approved, the key is another one, the certificate's authority was retired, it expired too
/// long ago, or a device that is late is a copy.
pub async fn renew(
    enrollment: &Enrollment,
    identity: &DeviceIdentity,
    request: String,
    late: Option<Late>,
) -> Result<IssuedCertificate, EnrollError> {
    let set = enrollment.authority.set();
    if !set.holds(&identity.issuer) {
        return Err(EnrollError::Retired);
    }
    let mut row = enrollment.devices.store.device(&identity.device_id).await?;
    if identity.public_key_fingerprint.to_string() != row.public_key_fingerprint {
        return Err(EnrollError::OtherKey);
    }
    if row.state != DeviceState::Approved {
        return Err(EnrollError::Held(row.state));
    }
    let csr = VerifiedCsr::parse(request.as_bytes())?;
    if csr.public_key_fingerprint().to_string() != row.public_key_fingerprint {
        return Err(EnrollError::OtherKey);
    }
    if let Some(late) = late {
        let since_end = now_ms().saturating_sub(identity.not_after_ms);
        let since_end = Duration::from_millis(since_end.try_into().unwrap_or_default());
        if since_end > enrollment.renew_within {
            return Err(EnrollError::TooLate);
        }
        presence::returned(&enrollment.devices, row.id, identity, late.generation, late.since)
            .await?;
    }
    row.certificate_request = request;
    issue_by(enrollment, &set, &row).await
}

/// Issues a device's first certificate.
pub(super) async fn give(
    enrollment: &Enrollment,
    row: &DeviceRow,
) -> Result<IssuedCertificate, EnrollError> {
    let set = enrollment.authority.set();
    let issued = issue_by(enrollment, &set, row).await?;
    let signer = set.signer().fingerprint();
    enrollment.authority.given().note(row.id, signer, issued.clone(), Instant::now());
    Ok(issued)
}

/// Returns the certificate that was issued a moment ago, else issues one.
pub(super) async fn give_again(
    enrollment: &Enrollment,
    row: &DeviceRow,
) -> Result<IssuedCertificate, EnrollError> {
    let given = enrollment.authority.given();
    let _turn = given.lock().await;
    let signer = enrollment.authority.set().signer().fingerprint();
    let now = (Instant::now(), now_ms());
    match given.again(row.id, &row.public_key_fingerprint, signer, now) {
        Some(issued) => Ok(issued),
        None => give(enrollment, row).await,
    }
}

async fn issue_by(
    enrollment: &Enrollment,
    set: &Authorities,
    row: &DeviceRow,
) -> Result<IssuedCertificate, EnrollError> {
    let validity = Duration::from_secs(enrollment.certificate_seconds.into());
    let now = now_ms();
    let issued = set.signer().issue_device(
        row.certificate_request.as_bytes(),
        &row.id.to_string(),
        validity,
        now,
    )?;
    let (serial, authority) = (&issued.serial_hex, set.signer().fingerprint().to_string());
    let recorded = enrollment
        .devices
        .store
        .record_certificate(row.id, serial, &authority, issued.not_after_ms, now)
        .await;
    match recorded {
        Ok(()) => Ok(issued),
        // The device lost its approval at this moment.
        Err(StoreError::Conflict) => {
            Err(EnrollError::Held(enrollment.devices.store.device_by_id(row.id).await?.state))
        }
        Err(error) => Err(error.into()),
    }
}
