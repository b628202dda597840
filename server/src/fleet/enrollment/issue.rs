//! Issues device certificates: the first, the same again where the response was lost, and renewals.

use std::time::{Duration, Instant};

use orion_mtls::{Authorities, DeviceIdentity, IssuedCertificate, VerifiedCsr};

use super::EnrollError;
use crate::backend::Backend;
use crate::clock::now_ms;
use crate::store::{DeviceRow, DeviceState, StoreError};

/// Renews a device's certificate for the same key. The old certificate stays valid until it expires.
///
/// # Errors
/// The device is not approved, the key is another one, or the certificate's authority was retired.
pub async fn renew(
    backend: &Backend,
    identity: &DeviceIdentity,
    request: String,
) -> Result<IssuedCertificate, EnrollError> {
    let set = backend.authority.set();
    if !set.holds(&identity.issuer) {
        return Err(EnrollError::Retired);
    }
    let mut row = backend.store.device(&identity.device_id).await?;
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
    row.certificate_request = request;
    issue_by(backend, &set, &row).await
}

/// Issues a device's first certificate.
pub(super) async fn give(
    backend: &Backend,
    row: &DeviceRow,
) -> Result<IssuedCertificate, EnrollError> {
    let set = backend.authority.set();
    let issued = issue_by(backend, &set, row).await?;
    let signer = set.signer().fingerprint();
    backend.authority.given().note(row.id, signer, issued.clone(), Instant::now());
    Ok(issued)
}

/// Returns the certificate that was issued a moment ago, else issues one.
pub(super) async fn give_again(
    backend: &Backend,
    row: &DeviceRow,
) -> Result<IssuedCertificate, EnrollError> {
    let given = backend.authority.given();
    let _turn = given.lock().await;
    let signer = backend.authority.set().signer().fingerprint();
    let now = (Instant::now(), now_ms());
    match given.again(row.id, &row.public_key_fingerprint, signer, now) {
        Some(issued) => Ok(issued),
        None => give(backend, row).await,
    }
}

async fn issue_by(
    backend: &Backend,
    set: &Authorities,
    row: &DeviceRow,
) -> Result<IssuedCertificate, EnrollError> {
    let validity = Duration::from_secs(backend.config.devices.certificate_seconds.into());
    let now = now_ms();
    let issued = set.signer().issue_device(
        row.certificate_request.as_bytes(),
        &row.id.to_string(),
        validity,
        now,
    )?;
    let (serial, authority) = (&issued.serial_hex, set.signer().fingerprint().to_string());
    let recorded = backend
        .store
        .record_certificate(row.id, serial, &authority, issued.not_after_ms, now)
        .await;
    match recorded {
        Ok(()) => Ok(issued),
        // The device lost its approval at this moment.
        Err(StoreError::Conflict) => {
            Err(EnrollError::Held(backend.store.device_by_id(row.id).await?.state))
        }
        Err(error) => Err(error.into()),
    }
}
