//! Enrollment: invitations, their redemption, approval and certificates, until a device's identity ends.

use std::sync::Arc;

use orion_domain::id::InviteId;
use orion_domain::{Caller, DeviceId, DeviceName, Digest, Grants, Secret};
use orion_mtls::{CsrError, IssuedCertificate, MtlsError, VerifiedCsr};
use orion_wire::EnrollmentToken;

mod issue;

pub use issue::renew;
use issue::{give, give_again};

use super::effective_policy::refresh;
use super::{Authority, Devices};
use crate::clock::{new_uuid, now_ms};
use crate::people::random_secret;
use crate::store::{
    Candidate, DeviceRow, DeviceState, NewInvite, RedeemError, Redemption, StoreError,
};

/// Default lifetime of an invitation, in seconds.
const INVITATION_SECONDS: u64 = 3600;
/// Minimum and maximum length of a ticket that a device generated, in bytes.
const MIN_TICKET_BYTES: usize = 32;
const MAX_TICKET_BYTES: usize = 128;
/// Maximum lifetime of an invitation, in seconds.
const MAX_INVITATION_SECONDS: u64 = 30 * 24 * 3600;

/// Why an enrollment fails.
#[derive(Debug, thiserror::Error)]
pub enum EnrollError {
    /// The invitation is unknown or its secret is wrong; the error does not say which.
    #[error("this token is not one of this backend's; make a new one with `orion devices invite`")]
    Unknown,
    /// The invitation has expired.
    #[error("this token has expired; make a new one with `orion devices invite`")]
    Expired,
    /// The invitation has no uses left.
    #[error(
        "this token was used as often as it may be; make a new one with `orion devices invite`"
    )]
    Spent,
    /// The certificate request is not valid.
    #[error("the certificate request is not one: {0}")]
    Request(#[from] CsrError),
    /// The suggested name is not a valid device name.
    #[error("`{0}` cannot be a device's name: use lower-case letters, digits, `-`, `_` and `.`")]
    Name(String),
    /// The certificate could not be issued.
    #[error("the certificate could not be issued")]
    Issue(#[from] MtlsError),
    /// The device's ticket is not valid.
    #[error("a ticket has 32 to 128 characters; the agent may be of another version")]
    NoTicket,
    /// The ticket does not belong to this device.
    #[error("there is no such pending device, or this is not its ticket")]
    Ticket,
    /// The device is rejected, quarantined or revoked, or not approved yet.
    #[error("this device is {}; an admin of the backend decides what becomes of it", .0.as_str())]
    Held(DeviceState),
    /// A device with this key is in the database, in whatever state.
    #[error(
        "a device with this key is on record here; one that was revoked or is in quarantine does not come back by itself, and a new one makes a new key, as `orion-agent enroll` does each time"
    )]
    KeyKnown,
    /// The certificate or the renewal request is for another key than the approved one.
    #[error(
        "this is for another key than this device enrolled with; a certificate is renewed for the key it has"
    )]
    OtherKey,
    /// The authority of the device's certificate was retired since the device connected.
    #[error(
        "the authority that signed this device's certificate was retired; enrol it again with a token of `orion devices invite`"
    )]
    Retired,
    /// The store failed.
    #[error("the database could not be written; nothing was changed")]
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

/// The content of an invitation.
#[derive(Debug, Clone, Default)]
pub struct Invitation {
    /// The device's name. None: the device suggests one.
    pub name: Option<DeviceName>,
    /// Lifetime, in seconds; 0 for the default.
    pub valid_seconds: u64,
    /// How many devices can use it; 0 for one.
    pub uses: u32,
    /// Whether devices are approved immediately.
    pub preapproved: bool,
    /// The grants that devices start with.
    pub grants: Grants,
}

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
}

/// Creates an invitation and its token.
///
/// # Errors
/// The store failed.
pub async fn invite(
    enrollment: &Enrollment,
    by: &Caller,
    invitation: Invitation,
) -> Result<EnrollmentToken, StoreError> {
    let now = now_ms();
    let seconds = match invitation.valid_seconds {
        0 => INVITATION_SECONDS,
        seconds => seconds.min(MAX_INVITATION_SECONDS),
    };
    let expires_at = now + i64::try_from(seconds).unwrap_or(0) * 1000;
    let (invite_id, secret) = (InviteId::new(new_uuid()), random_secret());
    enrollment
        .devices
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
        addresses: enrollment.addresses.clone(),
        // All active authorities: the token works now, and after the older authority is retired.
        pins: enrollment
            .authority
            .fingerprints()
            .iter()
            .filter_map(|pin| pin.parse().ok())
            .collect(),
        invite_id,
        secret,
        expires_at,
    })
}

/// A device that asks to be enrolled.
#[derive(Debug)]
pub struct Applicant {
    /// The invitation that the device uses.
    pub invite_id: InviteId,
    /// The invitation's secret.
    pub secret: Secret,
    /// The secret that the device polls with. None from an older agent.
    pub ticket: Option<Secret>,
    /// The certificate request, in PEM.
    pub certificate_request: String,
    /// The name that the device suggests; may be empty.
    pub suggested_name: String,
    /// The device's host name.
    pub hostname: String,
    /// The device's operating system.
    pub os: String,
}

/// The response to an enrolled device.
#[derive(Debug)]
pub struct Admission {
    /// The device's id.
    pub id: DeviceId,
    /// The device's name.
    pub name: DeviceName,
    /// The certificate. None until the device is approved.
    pub certificate: Option<IssuedCertificate>,
    /// The secret that the device polls with until it has connected.
    pub ticket: Secret,
    /// The words of the key's fingerprint, for people to compare.
    pub fingerprint_words: String,
}

/// Redeems an invitation and stores the device, approved or pending. The request is checked first, so that an
/// invalid one does not use up the invitation. A device that retries with the same key, invitation and
/// ticket, because the response was lost, gets the same response and uses nothing up.
///
/// # Errors
/// [`EnrollError`].
pub async fn enroll(
    enrollment: &Enrollment,
    applicant: Applicant,
) -> Result<Admission, EnrollError> {
    let csr = VerifiedCsr::parse(applicant.certificate_request.as_bytes())?;
    let fingerprint = csr.public_key_fingerprint();
    let own_name = own_name(&applicant)?;
    if let Some(ticket) = &applicant.ticket
        && !(MIN_TICKET_BYTES..=MAX_TICKET_BYTES).contains(&ticket.expose().len())
    {
        return Err(EnrollError::NoTicket);
    }
    let may_come_again = applicant.ticket.is_some();
    let ticket = applicant.ticket.unwrap_or_else(random_secret);
    let Redemption { device: row, is_new } = enrollment
        .devices
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
    refresh(&enrollment.devices, row.id).await?;
    let certificate = match row.state {
        DeviceState::Approved if is_new => Some(give(enrollment, &row).await?),
        DeviceState::Approved => Some(give_again(enrollment, &row).await?),
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

/// Returns the name of a device that the invitation does not name: the suggested name, else the host name.
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
    orion_domain::strip_hidden(text, 128)
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
            "two authorities have counted for longer than a certificate is good; end that with `orion-server ca retire`"
        );
    }
    if !enrollment.authority.keep(now) {
        return 0;
    }
    let fingerprints = enrollment.authority.fingerprints();
    tracing::warn!(authorities = fingerprints.join(" "), "other authorities count from here on");
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
