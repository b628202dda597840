//! Becoming a device: invitation, redemption, approval, certificate, and the end of all that.

use std::sync::Arc;

use orion_domain::id::InviteId;
use orion_domain::{Caller, DeviceId, DeviceName, Digest, Grants, Secret};
use orion_mtls::{CsrError, IssuedCertificate, MtlsError, VerifiedCsr};
use orion_wire::EnrollmentToken;

mod issue;

pub use issue::renew;
use issue::{give, give_again};

pub use super::effective_policy::{
    attach, end_modes, end_rules, load_all, person_changed, refresh, refresh_all, reload_stale,
};
use crate::backend::Backend;
use crate::clock::{new_uuid, now_ms};
use crate::people::random_secret;
use crate::store::{
    Candidate, DeviceRow, DeviceState, NewInvite, RedeemError, Redemption, StoreError,
};

/// How long an invitation is good when nobody says, in seconds.
const VALID_SECONDS: u64 = 3600;
/// How long a ticket that a device made up is, in bytes.
const LEAST_TICKET: usize = 32;
const MOST_TICKET: usize = 128;
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
    /// What the device made up as its ticket is none.
    #[error("a ticket has 32 to 128 characters; the agent may be of another version")]
    NoTicket,
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
    /// The authority of its certificate was retired since it connected.
    #[error(
        "the authority that signed this device's certificate was retired; enrol it anew with a token of `orion devices invite`"
    )]
    Retired,
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
    /// What it made up to ask with later; none of an older agent.
    pub ticket: Option<Secret>,
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
    /// What to ask with until it has connected.
    pub ticket: Secret,
    /// Its key, for people to compare.
    pub fingerprint_words: String,
}

/// Spends one use of an invitation and takes the device in, approved or pending. The request is
/// checked first, so that a bad one spends nothing. Who comes again with the same key, invitation and ticket,
/// because the answer was lost, is told what it was told before and spends nothing.
///
/// # Errors
/// See [`EnrollError`].
pub async fn enroll(backend: &Backend, applicant: Applicant) -> Result<Admission, EnrollError> {
    let csr = VerifiedCsr::parse(applicant.certificate_request.as_bytes())?;
    let fingerprint = csr.public_key_fingerprint();
    let own_name = own_name(&applicant)?;
    if let Some(ticket) = &applicant.ticket
        && !(LEAST_TICKET..=MOST_TICKET).contains(&ticket.expose().len())
    {
        return Err(EnrollError::NoTicket);
    }
    let may_come_again = applicant.ticket.is_some();
    let ticket = applicant.ticket.unwrap_or_else(random_secret);
    let Redemption { device: row, is_new } = backend
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
            may_come_again,
            hostname: display(&applicant.hostname),
            os: display(&applicant.os),
            at: now_ms(),
        })
        .await?;
    refresh(backend, row.id).await?;
    let certificate = match row.state {
        DeviceState::Approved if is_new => Some(give(backend, &row).await?),
        DeviceState::Approved => Some(give_again(backend, &row).await?),
        DeviceState::Pending => None,
        held @ (DeviceState::Rejected | DeviceState::Quarantined | DeviceState::Revoked) => {
            return Err(EnrollError::Held(held));
        }
    };
    if is_new {
        tracing::info!(device = %row.name, state = row.state.as_str(), "a device enrolled");
    }
    Ok(Admission {
        id: row.id,
        name: row.name,
        certificate,
        ticket,
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
    text.chars().filter(|c| !orion_domain::is_hidden(*c)).take(128).collect()
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
        DeviceState::Approved => Some(give_again(backend, &row).await?),
        DeviceState::Pending
        | DeviceState::Rejected
        | DeviceState::Quarantined
        | DeviceState::Revoked => None,
    };
    Ok((row, certificate))
}

/// Takes in the authorities as they are in the data folder by now.
pub async fn keep_authorities(backend: &Backend, now: i64) -> usize {
    let lifetime = i64::from(backend.config.devices.certificate_seconds) * 1000;
    if backend.authority.takes_long(lifetime, now) {
        tracing::warn!(
            "two authorities have counted for longer than a certificate is good; end that with `orion-server ca retire`"
        );
    }
    if !backend.authority.keep(now) {
        return 0;
    }
    let fingerprints = backend.authority.fingerprints();
    tracing::warn!(authorities = fingerprints.join(" "), "other authorities count from here on");
    if let Err(error) = backend.store.record_authorities(fingerprints, now).await {
        // They count all the same; the next start records them.
        tracing::error!(%error, "the change of authorities could not be recorded");
    }
    1
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
        let row = refresh(&shared, id).await?;
        changed.map(|_| row)
    };
    backend.run_to_completion(work).await
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
                ticket: None,
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
