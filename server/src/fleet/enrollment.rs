//! Becoming a device: invitation, redemption, approval, certificate, and the end of all that.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::id::InviteId;
use orion_domain::{Caller, DeviceId, DeviceName, Digest, Grants, Secret};
use orion_mtls::{CsrError, DeviceIdentity, IssuedCertificate, MtlsError, VerifiedCsr};
use orion_wire::EnrollmentToken;

pub use super::holding::{
    attach, catch_up, end_modes, end_rules, learn, person_changed, refresh,
};
use crate::backend::Backend;
use crate::clock::{new_uuid, now_ms};
use crate::people::random_secret;
use crate::store::{Candidate, DeviceRow, DeviceState, NewInvite, RedeemError, StoreError};

/// How long an invitation is good when nobody says, in seconds.
const VALID_SECONDS: u64 = 3600;
/// How long an invitation may be good, in seconds.
const MOST_SECONDS: u64 = 30 * 24 * 3600;

/// Why a device does not get in.
#[derive(Debug, thiserror::Error)]
pub enum EnrollError {
    /// Unknown invitation or wrong secret; which of them is not said.
    #[error("this token is not one of this backend's; make a new one with `orion devices invite`")]
    Unknown,
    /// Too late.
    #[error("this token has expired; make a new one with `orion devices invite`")]
    Expired,
    /// Used up.
    #[error(
        "this token was used as often as it may be; make a new one with `orion devices invite`"
    )]
    Spent,
    /// Not a request for a certificate.
    #[error("the certificate request is not one: {0}")]
    Request(#[from] CsrError),
    /// No name to call it by.
    #[error("`{0}` cannot be a device's name: use lower-case letters, digits, `-`, `_` and `.`")]
    Name(String),
    /// No certificate could be made.
    #[error("the certificate could not be issued")]
    Issue(#[from] MtlsError),
    /// The ticket is not this device's.
    #[error("there is no such pending device, or this is not its ticket")]
    Ticket,
    /// The device is held back.
    #[error("this device is {}; an admin of the backend decides what becomes of it", .0.as_str())]
    Held(DeviceState),
    /// A device with this key is on record, whatever has become of it.
    #[error(
        "a device with this key is on record here; one that was revoked or is in quarantine does not come back by itself, and a new one makes a new key, as `orion-agent enroll` does each time"
    )]
    KeyKnown,
    /// The certificate, or the request for another, is for another key than the one that was approved.
    #[error(
        "this is for another key than this device enrolled with; a certificate is renewed for the key it has"
    )]
    OtherKey,
    /// The record cannot be kept.
    #[error("the record could not be written; nothing was changed")]
    Store(#[from] StoreError),
}

impl From<RedeemError> for EnrollError {
    fn from(error: RedeemError) -> Self {
        match error {
            RedeemError::Unknown => Self::Unknown,
            RedeemError::Expired => Self::Expired,
            RedeemError::Spent => Self::Spent,
            RedeemError::KeyKnown => Self::KeyKnown,
            RedeemError::Store(error) => Self::Store(error),
        }
    }
}

/// What an invitation says.
#[derive(Debug, Clone, Default)]
pub struct Invitation {
    /// The device's name, or what it suggests.
    pub name: Option<DeviceName>,
    /// How long it is good, in seconds; 0 for the default.
    pub valid_seconds: u64,
    /// How often it can be used; 0 for once.
    pub uses: u32,
    /// Whether devices are approved at once.
    pub preapproved: bool,
    /// What devices begin with.
    pub grants: Grants,
}

/// Makes an invitation and its token.
///
/// # Errors
/// The record cannot be kept.
pub async fn invite(
    backend: &Backend,
    by: &Caller,
    invitation: Invitation,
) -> Result<EnrollmentToken, StoreError> {
    let now = now_ms();
    let seconds = match invitation.valid_seconds {
        0 => VALID_SECONDS,
        seconds => seconds.min(MOST_SECONDS),
    };
    let expires_at = now + i64::try_from(seconds).unwrap_or(0) * 1000;
    let (invite_id, secret) = (InviteId::new(new_uuid()), random_secret());
    backend
        .store
        .create_invite(NewInvite {
            id: invite_id,
            secret_hash: Digest::of(secret.expose().as_bytes()),
            name: invitation.name,
            grants: serde_json::to_string(&invitation.grants).unwrap_or_default(),
            preapproved: invitation.preapproved,
            uses: invitation.uses.clamp(1, 1000),
            expires_at,
            created_by: by.user.clone(),
            created_at: now,
        })
        .await?;
    Ok(EnrollmentToken {
        addresses: backend.device_addresses.clone(),
        // All that count: it is good with the backend as it is, and when the older one has gone.
        pins: backend.authority.fingerprints().iter().filter_map(|pin| pin.parse().ok()).collect(),
        invite_id,
        secret,
        expires_at,
    })
}

/// A device at the door.
#[derive(Debug)]
pub struct Applicant {
    /// The invitation it came with.
    pub invite_id: InviteId,
    /// The secret that goes with it.
    pub secret: Secret,
    /// PEM.
    pub certificate_request: String,
    /// What it would like to be called.
    pub suggested_name: String,
    /// Its own name.
    pub hostname: String,
    /// Its operating system.
    pub os: String,
}

/// What the device is told.
#[derive(Debug)]
pub struct Admission {
    /// Its id.
    pub id: DeviceId,
    /// Its name.
    pub name: DeviceName,
    /// Its certificate, where it was approved at once.
    pub certificate: Option<IssuedCertificate>,
    /// What to ask with later, where it was not.
    pub ticket: Option<Secret>,
    /// Its key, for people to compare.
    pub fingerprint_words: String,
}

/// Spends one use of an invitation and takes the device in, approved or pending. The request is
/// checked first, so that a bad one spends nothing.
///
/// # Errors
/// See [`EnrollError`].
pub async fn enroll(backend: &Backend, applicant: Applicant) -> Result<Admission, EnrollError> {
    let csr = VerifiedCsr::parse(applicant.certificate_request.as_bytes())?;
    let fingerprint = csr.public_key_fingerprint();
    let own_name = own_name(&applicant)?;
    let ticket = random_secret();
    let row = backend
        .store
        .enroll_device(Candidate {
            id: DeviceId::new(new_uuid()),
            invite: applicant.invite_id,
            secret_hash: Digest::of(applicant.secret.expose().as_bytes()),
            own_name,
            public_key_fingerprint: fingerprint.to_string(),
            fingerprint_words: fingerprint.words(),
            certificate_request: applicant.certificate_request,
            ticket_hash: Digest::of(ticket.expose().as_bytes()),
            hostname: display(&applicant.hostname),
            os: display(&applicant.os),
            at: now_ms(),
        })
        .await?;
    refresh(backend, row.id).await?;
    let approved = row.state == DeviceState::Approved;
    let certificate = if approved { Some(issue(backend, &row).await?) } else { None };
    tracing::info!(device = %row.name, state = row.state.as_str(), "a device enrolled");
    Ok(Admission {
        id: row.id,
        name: row.name,
        certificate,
        ticket: (!approved).then_some(ticket),
        fingerprint_words: fingerprint.words(),
    })
}

/// What a device is called that was given no name: what it asks for, else after its host.
fn own_name(applicant: &Applicant) -> Result<DeviceName, EnrollError> {
    let asked = applicant.suggested_name.to_lowercase();
    if !asked.is_empty() {
        return asked.parse().map_err(|_| EnrollError::Name(asked.chars().take(63).collect()));
    }
    let host = applicant.hostname.to_lowercase();
    let name: String = host
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' })
        .skip_while(|c| !c.is_ascii_alphanumeric())
        .take(63)
        .collect();
    name.parse().or_else(|_| "device".parse()).map_err(|_| EnrollError::Name(name))
}

fn display(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(128).collect()
}

/// What has become of a pending device, and its certificate once it is approved.
///
/// # Errors
/// The ticket is not this device's.
pub async fn status(
    backend: &Backend,
    device: &str,
    ticket: &str,
) -> Result<(DeviceRow, Option<IssuedCertificate>), EnrollError> {
    let row = match backend.store.device(device).await {
        Ok(row) => row,
        Err(StoreError::NotFound) => return Err(EnrollError::Ticket),
        Err(error) => return Err(error.into()),
    };
    if row.ticket_hash != Some(Digest::of(ticket.as_bytes())) {
        return Err(EnrollError::Ticket);
    }
    let certificate = match row.state {
        DeviceState::Approved => Some(issue(backend, &row).await?),
        DeviceState::Pending
        | DeviceState::Rejected
        | DeviceState::Quarantined
        | DeviceState::Revoked => None,
    };
    Ok((row, certificate))
}

/// A new certificate for the same key. The old one stays good until it ends.
///
/// # Errors
/// The device is held back, or asks with another key.
pub async fn renew(
    backend: &Backend,
    identity: &DeviceIdentity,
    request: String,
) -> Result<IssuedCertificate, EnrollError> {
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
    issue(backend, &row).await
}

async fn issue(backend: &Backend, row: &DeviceRow) -> Result<IssuedCertificate, EnrollError> {
    let validity = Duration::from_secs(backend.config.devices.certificate_seconds.into());
    let now = now_ms();
    let set = backend.authority.set();
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
        // It was taken away in this very moment.
        Err(StoreError::Conflict) => {
            Err(EnrollError::Held(backend.store.device_by_id(row.id).await?.state))
        }
        Err(error) => Err(error.into()),
    }
}

/// Takes in the authorities as they are in the data folder by now.
pub async fn keep_authorities(backend: &Backend) {
    if !backend.authority.keep(now_ms()) {
        return;
    }
    let fingerprints = backend.authority.fingerprints();
    tracing::warn!(authorities = fingerprints.join(" "), "other authorities count from here on");
    if let Err(error) = backend.store.record_authorities(fingerprints, now_ms()).await {
        // They count all the same; the next start records them.
        tracing::error!(%error, "the change of authorities could not be recorded");
    }
}

/// Changes a device's state by a person's word. Whatever takes its rights away also ends its live
/// stream at once.
///
/// # Errors
/// No such device, or not from the state it is in.
pub async fn set_state(
    backend: &Arc<Backend>,
    device: &str,
    from: &[DeviceState],
    to: DeviceState,
    by: &Caller,
    reason: &str,
) -> Result<DeviceRow, StoreError> {
    let id = backend.store.device(device).await?.id;
    let reason: String = reason.chars().take(500).collect();
    let (shared, from, by) = (Arc::clone(backend), from.to_vec(), by.user.clone());
    let work = async move {
        let changed = shared.store.set_device_state(id, &from, to, &by, &reason, now_ms()).await;
        // It may be so already, and not be taken in.
        if !matches!(changed, Ok(_) | Err(StoreError::Conflict)) {
            return changed;
        }
        // First of all, so that no failure later leaves a certificate good.
        match shared.store.device_by_id(id).await?.state {
            DeviceState::Revoked | DeviceState::Rejected => {
                shared.fleet.revoke(shared.store.certificates_of(id).await?);
            }
            DeviceState::Quarantined | DeviceState::Approved | DeviceState::Pending => {}
        }
        let row = refresh(&shared, id).await?;
        changed.map(|_| row)
    };
    backend.whole(work).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_a_name_is_called_after_its_host_and_never_by_an_id() {
        let name = |suggested: &str, hostname: &str| {
            own_name(&Applicant {
                invite_id: InviteId::new(new_uuid()),
                secret: Secret::new(""),
                certificate_request: String::new(),
                suggested_name: suggested.to_owned(),
                hostname: hostname.to_owned(),
                os: String::new(),
            })
            .map(String::from)
            .map_err(|error| error.to_string())
        };
        assert_eq!(name("Kiosk", "x"), Ok("kiosk".to_owned()));
        assert_eq!(name("", "Ann's MacBook"), Ok("ann-s-macbook".to_owned()));
        assert_eq!(name("", "\u{202e}"), Ok("device".to_owned()));
        let id = DeviceId::new(new_uuid()).to_string();
        assert_eq!(name("", &id), Ok("device".to_owned()));
        assert!(name(&id, "x").unwrap_err().contains("cannot be a device's name"));
        assert!(name("a b", "x").is_err());
    }
}
