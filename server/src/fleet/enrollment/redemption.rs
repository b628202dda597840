//! Redeems an invitation: a device becomes known, approved or pending, under a name of its own.

use std::net::IpAddr;

use orion_domain::id::InviteId;
use orion_domain::{DeviceId, DeviceName, Digest, Secret};
use orion_mtls::{IssuedCertificate, VerifiedCsr};

use super::Enrollment;
use super::error::EnrollError;
use super::issue::{give, give_again};
use crate::clock::{new_uuid, now_ms};
use crate::fleet::effective_policy::refresh;
use crate::people::random_secret;
use crate::store::{Candidate, DeviceState, Redemption};

/// Minimum and maximum length of a ticket that a device generated, in bytes.
pub(super) const MIN_TICKET_BYTES: usize = 32;

pub(super) const MAX_TICKET_BYTES: usize = 128;

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
    /// The device's architecture; empty from an older agent.
    pub arch: String,
    /// The address of the device's connection.
    pub address: IpAddr,
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
    let own_name = own_name(&applicant.suggested_name, &applicant.hostname)?;
    if let Some(ticket) = &applicant.ticket
        && !(MIN_TICKET_BYTES..=MAX_TICKET_BYTES).contains(&ticket.expose().len())
    {
        return Err(EnrollError::NoTicket);
    }
    let may_come_again = applicant.ticket.is_some();
    let ticket = applicant.ticket.unwrap_or_else(random_secret);
    let shared = enrollment.devices.clone();
    let ticket_hash = Digest::of(ticket.expose().as_bytes());
    let words = fingerprint.words();
    let work = async move {
        // No policy is applied between the comparison with its names and the device's first terms.
        let _guard = shared.policies.apply_lock.read().await;
        let active = shared.policies.active();
        let redemption = shared
            .store
            .enroll_device(Candidate {
                id: DeviceId::new(new_uuid()),
                invite: applicant.invite_id,
                secret_hash: Digest::of(applicant.secret.expose().as_bytes()),
                own_name,
                public_key_fingerprint: fingerprint.to_string(),
                fingerprint_words: words,
                certificate_request: applicant.certificate_request,
                ticket_hash,
                may_come_again,
                policy_names: active.file.iter().flat_map(|file| file.names().cloned()).collect(),
                hostname: display(&applicant.hostname),
                platform: platform(&applicant.os, &applicant.arch),
                address: applicant.address,
                os: display(&applicant.os),
                at: now_ms(),
            })
            .await?;
        refresh(&shared, redemption.device.id).await?;
        Ok::<_, EnrollError>(redemption)
    };
    let Redemption { device: row, is_new } =
        enrollment.devices.tasks.run_to_completion(work).await?;
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
pub(super) fn own_name(suggested: &str, hostname: &str) -> Result<DeviceName, EnrollError> {
    let asked = suggested.to_lowercase();
    if DeviceName::is_reserved(&asked) {
        return Err(EnrollError::Reserved);
    }
    if !asked.is_empty() {
        return asked.parse().map_err(|_| EnrollError::Name(asked.chars().take(63).collect()));
    }
    let host = hostname.to_lowercase();
    let name: String = host
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' })
        .skip_while(|c| !c.is_ascii_alphanumeric())
        .take(63)
        .collect();
    name.parse().or_else(|_| "device".parse()).map_err(|_| EnrollError::Name(name))
}

/// Returns the platform that a device states, as releases name it; an older agent states the system alone.
pub(super) fn platform(os: &str, arch: &str) -> String {
    match (display(os), display(arch)) {
        (os, arch) if arch.is_empty() => os,
        (os, arch) => format!("{os}-{arch}"),
    }
}

pub(super) fn display(text: &str) -> String {
    orion_domain::strip_hidden(text, 128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_a_name_is_called_after_its_host_and_never_by_an_id() {
        let name = |suggested: &str, hostname: &str| {
            own_name(suggested, hostname).map(String::from).map_err(|error| error.to_string())
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
