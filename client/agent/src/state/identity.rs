//! The device's identity: its key, its certificate, and the backend that it belongs to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use orion_domain::id::InviteId;
use orion_domain::{DeviceId, DeviceName, Secret};
use orion_mtls::secret_file::{self, SecretFileError};
use orion_mtls::{DeviceIdentity, DeviceKey, Fingerprint, MtlsError};
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::{Deserialize, Serialize};

use super::names::{AUTHORITIES, CERTIFICATE, IDENTITY, KEY, PENDING};
use super::{State, StateError};
use crate::clock::until;

/// The most authorities that are reported; more than two are never in use.
const MAX_REPORTED: usize = 8;

/// An enrolled device.
#[derive(Debug)]
pub struct Identity {
    /// The device's id at the backend.
    pub device_id: DeviceId,
    /// The device's name at the backend when it enrolled.
    pub name: DeviceName,
    /// The backend's addresses, `host:port`.
    pub addresses: Vec<String>,
    /// When to renew the certificate, Unix milliseconds.
    pub renew_at: i64,
    /// When the certificate expires, Unix milliseconds.
    pub not_after: i64,
    /// The certificate, PEM.
    pub certificate: String,
    /// The authorities that may sign the backend's certificate, PEM.
    pub authorities: String,
    /// The device's own key.
    pub key: DeviceKey,
}

#[cfg(test)]
impl Identity {
    /// Creates an identity with a key and no certificate.
    pub(crate) fn for_tests() -> Self {
        Self {
            device_id: DeviceId::new(uuid::Uuid::from_u128(7)),
            name: "kiosk".parse().unwrap(),
            addresses: Vec::new(),
            renew_at: 0,
            not_after: 0,
            certificate: String::new(),
            authorities: String::new(),
            key: DeviceKey::generate().unwrap(),
        }
    }
}

/// A pending enrolment: the device has no certificate yet.
#[derive(Debug)]
pub struct Pending {
    /// The stage of the enrolment.
    pub stage: EnrollmentStage,
    /// The secret with which the device polls for the decision.
    pub ticket: Secret,
    /// The backend's addresses, `host:port`.
    pub addresses: Vec<String>,
    /// The pins of the token, as text.
    pub pins: String,
    /// The device's own key.
    pub key: DeviceKey,
    /// The first `agent.toml` that the person asked for, which is written once the device is enrolled.
    pub first_config: Option<String>,
}

/// The stage of an enrolment.
#[derive(Debug, PartialEq, Eq)]
pub enum EnrollmentStage {
    /// The request is sent and has no answer, or the answer was lost. It may be sent again.
    Asked {
        /// The token's invitation.
        invite: InviteId,
        /// The token's secret.
        secret: Secret,
        /// The suggested name. None to let the backend choose.
        name: Option<DeviceName>,
    },
    /// The backend has accepted the request, and the device waits for approval.
    Known {
        /// The device's id at the backend.
        device_id: DeviceId,
        /// The token's invitation. None if an older version wrote the file.
        invite: Option<InviteId>,
    },
}

/// `identity.toml`. Its presence means that the device is enrolled, so it is written last.
#[derive(Serialize, Deserialize)]
struct Written {
    device_id: DeviceId,
    name: DeviceName,
    addresses: Vec<String>,
    renew_at: i64,
    not_after: i64,
}

/// `pending.toml`. A whole enrolment is in one file, beside the identity that the device still has.
#[derive(Serialize, Deserialize)]
struct WrittenPending {
    #[serde(skip_serializing_if = "Option::is_none")]
    device_id: Option<DeviceId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    invite: Option<InviteId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<DeviceName>,
    ticket: String,
    addresses: Vec<String>,
    pins: String,
    /// The device's key, PEM. None if an older version wrote the file; then it is in `key.pem`.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_config: Option<String>,
}

impl Identity {
    /// Reads the identity in a state directory. `None` if the device is not enrolled.
    ///
    /// # Errors
    /// [`StateError`] when the identity exists and cannot be used.
    pub fn read(dir: &Path) -> Result<Option<Self>, StateError> {
        let Some(written) = read_toml::<Written>(&dir.join(IDENTITY))? else { return Ok(None) };
        let Written { device_id, name, addresses, renew_at, not_after } = written;
        let text = |name: &str| -> Result<String, StateError> {
            let path = dir.join(name);
            fs::read_to_string(&path).map_err(|source| StateError::Io { path, source })
        };
        let identity = Self {
            device_id,
            name,
            addresses,
            renew_at,
            not_after,
            certificate: text(CERTIFICATE)?,
            authorities: text(AUTHORITIES)?,
            key: DeviceKey::from_pem(secret_file::read_text(&dir.join(KEY))?.expose())?,
        };
        Ok(Some(identity))
    }

    /// Writes the identity. A new identity counts only when it is complete: until the last file is in
    /// place, the device is not enrolled.
    ///
    /// # Errors
    /// [`StateError`] when the identity cannot be written.
    pub fn save(&self, state: &State) -> Result<(), StateError> {
        secret_file::write(&state.path(KEY), self.key.to_pem().expose().as_bytes())?;
        // The authorities are written before the certificate that came with them.
        secret_file::write(&state.path(AUTHORITIES), self.authorities.as_bytes())?;
        secret_file::write(&state.path(CERTIFICATE), self.certificate.as_bytes())?;
        let written = Written {
            device_id: self.device_id,
            name: self.name.clone(),
            addresses: self.addresses.clone(),
            renew_at: self.renew_at,
            not_after: self.not_after,
        };
        write_toml(&state.path(IDENTITY), &written)
    }

    /// Returns whether a state directory says which device it is, whether or not the key is there.
    #[must_use]
    pub fn is_named(dir: &Path) -> bool {
        matches!(read_toml::<Written>(&dir.join(IDENTITY)), Ok(Some(_)))
    }

    /// Removes the identity and the pending enrolment, before the device becomes another.
    ///
    /// # Errors
    /// [`StateError::Io`] when the file cannot be removed.
    pub fn forget(state: &State) -> Result<(), StateError> {
        Self::retire(state)?;
        remove(state.path(PENDING))
    }

    /// Removes the identity, and keeps the pending enrolment.
    ///
    /// # Errors
    /// [`StateError::Io`] when the file cannot be removed.
    pub fn retire(state: &State) -> Result<(), StateError> {
        remove(state.path(IDENTITY))
    }

    /// Returns the fingerprints of the authorities that may sign the backend's certificate.
    #[must_use]
    pub fn trusted(&self) -> Vec<Fingerprint> {
        CertificateDer::pem_slice_iter(self.authorities.as_bytes())
            .flatten()
            .take(MAX_REPORTED)
            .map(|certificate| Fingerprint::of_certificate(&certificate))
            .collect()
    }

    /// Returns the mTLS configuration: the device's certificate, and the authorities that it trusts.
    ///
    /// # Errors
    /// [`MtlsError`] when key, certificate and authorities do not match.
    pub fn tls(&self) -> Result<Arc<ClientConfig>, MtlsError> {
        orion_mtls::mutual(&[&self.authorities], &self.certificate, &self.key)
    }
}

impl Pending {
    /// Reads the pending enrolment in a state directory. `None` if there is none.
    ///
    /// # Errors
    /// [`StateError`] when the file exists and cannot be used.
    pub fn read(dir: &Path) -> Result<Option<Self>, StateError> {
        let path = dir.join(PENDING);
        let Some(written) = read_toml::<WrittenPending>(&path)? else { return Ok(None) };
        let WrittenPending {
            device_id,
            invite,
            secret,
            name,
            ticket,
            addresses,
            pins,
            key,
            first_config,
        } = written;
        let stage = match (device_id, invite, secret) {
            (Some(device_id), invite, _) => EnrollmentStage::Known { device_id, invite },
            (None, Some(invite), Some(secret)) => {
                EnrollmentStage::Asked { invite, secret: Secret::new(secret), name }
            }
            (None, _, _) => return Err(StateError::Damaged { path }),
        };
        let key = match key {
            Some(pem) => DeviceKey::from_pem(&pem)?,
            None => DeviceKey::from_pem(secret_file::read_text(&dir.join(KEY))?.expose())?,
        };
        Ok(Some(Self { stage, ticket: Secret::new(ticket), addresses, pins, key, first_config }))
    }

    /// Writes the enrolment, so that it can continue after this program ends. The identity does not change.
    ///
    /// # Errors
    /// [`StateError`] when the file cannot be written.
    pub fn save(&self, state: &State) -> Result<(), StateError> {
        let (device_id, invite, secret, name) = match &self.stage {
            EnrollmentStage::Asked { invite, secret, name } => {
                (None, Some(*invite), Some(secret.expose().to_owned()), name.clone())
            }
            EnrollmentStage::Known { device_id, invite } => (Some(*device_id), *invite, None, None),
        };
        let written = WrittenPending {
            device_id,
            invite,
            secret,
            name,
            ticket: self.ticket.expose().to_owned(),
            addresses: self.addresses.clone(),
            pins: self.pins.clone(),
            key: Some(self.key.to_pem().expose().clone()),
            first_config: self.first_config.clone(),
        };
        write_toml(&state.path(PENDING), &written)
    }

    /// Returns whether the backend has accepted the request, so that only the approval is missing.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        matches!(self.stage, EnrollmentStage::Known { .. })
    }

    /// Returns whether the enrolment was begun with a token of this invitation and secret.
    #[must_use]
    pub fn is_of(&self, invitation: InviteId, its_secret: &Secret) -> bool {
        match &self.stage {
            EnrollmentStage::Asked { invite, secret, .. } => {
                *invite == invitation && secret == its_secret
            }
            EnrollmentStage::Known { invite, .. } => *invite == Some(invitation),
        }
    }

    /// Removes the pending enrolment.
    ///
    /// # Errors
    /// [`StateError::Io`] when the file cannot be removed.
    pub fn forget(state: &State) -> Result<(), StateError> {
        remove(state.path(PENDING))
    }
}

/// Returns whether a certificate (PEM) names this device and was issued for this key. The backend checks
/// the signature when the device connects.
#[must_use]
pub fn is_for(certificate: &str, device: DeviceId, key: &DeviceKey) -> bool {
    read_certificate(certificate).is_some_and(|named| {
        named.device_id == device.to_string() && named.public_key_fingerprint == key.fingerprint()
    })
}

/// Returns how long a certificate (PEM) is valid in total, by its own dates and not by this device's
/// clock. Zero for an unreadable certificate.
#[must_use]
pub fn lifetime(certificate: &str) -> Duration {
    read_certificate(certificate)
        .map_or(Duration::ZERO, |named| until(named.not_after_ms, named.not_before_ms))
}

fn read_certificate(pem: &str) -> Option<DeviceIdentity> {
    let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
    DeviceIdentity::from_certificate(&certificate).ok()
}

fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, StateError> {
    let text = match secret_file::read_text(path) {
        Ok(text) => text,
        Err(SecretFileError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    toml::from_str(text.expose())
        .map(Some)
        .map_err(|_| StateError::Damaged { path: path.to_owned() })
}

fn write_toml<T: Serialize>(path: &Path, value: &T) -> Result<(), StateError> {
    let text = toml::to_string(value).map_err(|_| StateError::Damaged { path: path.to_owned() })?;
    Ok(secret_file::write(path, text.as_bytes())?)
}

fn remove(path: PathBuf) -> Result<(), StateError> {
    match fs::remove_file(&path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(StateError::Io { path, source }),
    }
}
