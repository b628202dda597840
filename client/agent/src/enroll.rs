//! Enrolment of the device: the backend is verified before anything is sent, the key is generated here and
//! never leaves, and the device waits for approval if the token is not pre-approved.

mod ask;
mod by_code;
mod error;

use std::time::{Duration, Instant};

use orion_domain::{DeviceId, DeviceName, Digest, Secret};
use orion_mtls::{DeviceKey, Fingerprint, PinSet};
use orion_wire::{EnrollmentToken, v1};

use crate::clock::now_ms;
use crate::connect::printable;
use crate::connect::renew::{Renewed, check, renew_at};
use crate::state::{EnrollmentStage, Identity, Pending, State};
use ask::Backend;
pub use by_code::{CodeEnrollment, Proof, ReadLine, device_address, enroll_by_code};
pub use error::EnrollError;

/// How often a pending device polls, before jitter.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The parameters of an enrolment.
#[derive(Debug)]
pub struct Enrollment {
    /// The token. None to continue a pending enrolment.
    pub token: Option<EnrollmentToken>,
    /// The suggested name; the backend decides. None to suggest none.
    pub name: Option<DeviceName>,
    /// Whether an enrolled device becomes another one.
    pub replace: Replace,
    /// How long to wait for approval. None to leave the device pending.
    pub wait: Option<Duration>,
    /// The first `agent.toml` that the person asks for. Without a token, None for the one of the enrolment that goes on.
    pub first_config: Option<String>,
}

/// What to do if the device is enrolled already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    /// Fail, and keep the identity.
    Refuse,
    /// Enrol as another device.
    Force,
}

/// A message for the person at the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The device waits for approval; an admin compares the words.
    Pending {
        /// The device's name at the backend.
        name: String,
        /// The fingerprint of the device's key, in words.
        words: String,
    },
    /// The device shows a code; an admin types it and compares the words.
    Code {
        /// The code, as `XXXX-XXXX`.
        code: String,
        /// The words that cover the backend's authority and the device's key.
        words: String,
        /// How long the code is good.
        valid: Duration,
    },
    /// The backend says that an admin confirmed the code; a person types the words that the admin sees.
    Confirmed {
        /// How often other words were typed.
        wrong: u32,
    },
    /// The backend cannot be reached now.
    Unreachable {
        /// The reason, as a sentence.
        why: String,
    },
}

/// An enrolled device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrolled {
    /// The device's id.
    pub device_id: DeviceId,
    /// The device's name at the backend.
    pub name: DeviceName,
    /// When the certificate expires, Unix milliseconds.
    pub not_after: i64,
    /// The first `agent.toml` that the person asked for.
    pub first_config: Option<String>,
}

/// Enrols the device with this state directory. `say` receives messages for the person.
///
/// # Errors
/// [`EnrollError`]; then the device keeps its earlier identity, unless it was to be replaced.
pub async fn enroll(
    state: &State,
    wanted: Enrollment,
    say: &mut (dyn FnMut(Notice) + Send),
) -> Result<Enrolled, EnrollError> {
    let Enrollment { token, name, replace, wait, first_config } = wanted;
    // A state that cannot be read may be replaced as well.
    if replace == Replace::Refuse
        && let Some(identity) = Identity::read(state.dir())?
    {
        return Err(EnrollError::AlreadyEnrolled { name: identity.name.to_string() });
    }
    let Some(token) = token else {
        let begun = Pending::read(state.dir())?.ok_or(EnrollError::NothingPending)?;
        let first_config = first_config.or_else(|| begun.first_config.clone());
        return go_on(state, Pending { first_config, ..begun }, wait, None, say).await;
    };
    let EnrollmentToken { addresses, pins, invite_id, secret, expires_at: _ } = &token;
    let pins = PinSet::new(pins.iter().map(|pin| Fingerprint(*pin.as_bytes())))?.to_string();
    // The same token continues its pending enrolment, because the answer may have been lost. An unreadable
    // one counts as begun with another token.
    let begun = Pending::read(state.dir()).ok().flatten();
    let pending = match begun.filter(|begun| begun.is_of(*invite_id, secret)) {
        Some(begun) => Pending { addresses: addresses.clone(), pins, first_config, ..begun },
        None if token.is_expired(now_ms()) => return Err(EnrollError::Expired),
        None => Pending {
            stage: EnrollmentStage::Asked { invite: *invite_id, secret: secret.clone(), name },
            ticket: Secret::new(Digest::of(&rand::random::<[u8; 32]>()).to_string()),
            addresses: addresses.clone(),
            pins,
            key: DeviceKey::generate()?,
            first_config,
        },
    };
    go_on(state, pending, wait, None, say).await
}

/// Continues the enrolment from its stage, with a backend that was reached or with the one of the enrolment.
async fn go_on(
    state: &State,
    pending: Pending,
    wait: Option<Duration>,
    reached: Option<Backend>,
    say: &mut (dyn FnMut(Notice) + Send),
) -> Result<Enrolled, EnrollError> {
    let EnrollmentStage::Asked { invite, secret, name } = &pending.stage else {
        pending.save(state)?;
        return approved(state, pending, wait, (false, say)).await;
    };
    let invite = *invite;
    let request = v1::EnrollRequest {
        invite_id: invite.to_string(),
        secret: secret.expose().to_owned(),
        certificate_request: pending.key.csr()?,
        suggested_name: name.clone().map(String::from).unwrap_or_default(),
        hostname: crate::facts::hostname(),
        os: orion_wire::Os::current().as_str().to_owned(),
        ticket: pending.ticket.expose().to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
    };
    let mut backend = match reached {
        Some(backend) => backend,
        None => Backend::reach(&pending.addresses, &pending.pins.parse()?).await?,
    };
    // Key and ticket are on disk before they are sent: if the answer is lost, they identify the device.
    let waiting = Pending::read(state.dir()).ok().flatten().filter(Pending::is_known);
    pending.save(state)?;
    let answer = match backend.enroll(request).await {
        Ok(answer) => answer,
        Err(EnrollError::Connect(lost)) => return Err(EnrollError::NoAnswer(lost)),
        Err(error) => {
            // After a final refusal the backend has stored nothing, so an earlier enrolment continues.
            if matches!(error, EnrollError::Refused(_) | EnrollError::WrongBackend(_)) {
                match waiting {
                    Some(waiting) => waiting.save(state)?,
                    None => Pending::forget(state)?,
                }
            }
            return Err(error);
        }
    };
    let v1::EnrollResponse { device_id, device_name, certificate, ticket, fingerprint_words: _ } =
        answer;
    let device_id = device_id.parse().map_err(|_| EnrollError::Answer("device id"))?;
    if let Some(certificate) = certificate {
        return keep(state, device_id, &device_name, pending, certificate);
    }
    if ticket.is_empty() {
        return Err(EnrollError::Answer("ticket"));
    }
    // An older backend issues its own ticket.
    let ticket = Secret::new(ticket);
    let stage = EnrollmentStage::Known { device_id, invite: Some(invite) };
    let pending = Pending { stage, ticket, ..pending };
    pending.save(state)?;
    // The earlier identity ends here: the device becomes another one, and no answer can be wrong any more.
    Identity::retire(state)?;
    // The words come from the device's own key: a backend in between cannot forge them.
    let words = pending.key.fingerprint_words();
    say(Notice::Pending { name: printable(&device_name), words });
    approved(state, pending, wait, (true, say)).await
}

/// Returns when to ask the backend again.
fn next_poll() -> Instant {
    Instant::now() + POLL_INTERVAL.mul_f64(0.8 + 0.4 * rand::random::<f64>())
}

/// Polls until an admin has decided, or the time is over. `is_shown` says that the words to compare were shown.
async fn approved(
    state: &State,
    pending: Pending,
    wait: Option<Duration>,
    (mut is_shown, say): (bool, &mut (dyn FnMut(Notice) + Send)),
) -> Result<Enrolled, EnrollError> {
    let EnrollmentStage::Known { device_id, .. } = pending.stage else {
        return Err(EnrollError::Unfinished);
    };
    let pins: PinSet = pending.pins.parse()?;
    let words = pending.key.fingerprint_words();
    let until = wait.map(|wait| Instant::now() + wait);
    let mut backend = None;
    let mut silent = false;
    loop {
        let asked = async {
            let mut reached = match backend.take() {
                Some(reached) => reached,
                None => Backend::reach(&pending.addresses, &pins).await?,
            };
            let response = reached.decision(device_id, pending.ticket.expose()).await?;
            backend = Some(reached);
            Ok::<_, EnrollError>(response)
        };
        match asked.await {
            Ok(v1::GetEnrollmentResponse { state: decision, certificate, device_name }) => {
                silent = false;
                match v1::EnrollmentState::try_from(decision) {
                    Ok(v1::EnrollmentState::Approved) => {
                        let certificate = certificate.ok_or(EnrollError::Answer("certificate"))?;
                        return keep(state, device_id, &device_name, pending, certificate);
                    }
                    Ok(v1::EnrollmentState::Rejected) => {
                        Identity::forget(state)?;
                        return Err(EnrollError::Rejected);
                    }
                    Ok(v1::EnrollmentState::Pending) => {
                        if !std::mem::replace(&mut is_shown, true) {
                            let (name, words) = (printable(&device_name), words.clone());
                            say(Notice::Pending { name, words });
                        }
                    }
                    Ok(v1::EnrollmentState::Unspecified) | Err(_) => {
                        return Err(EnrollError::Answer("state"));
                    }
                }
            }
            Err(error) if error.passes() && wait.is_some() => {
                if !silent {
                    say(Notice::Unreachable { why: error.to_string() });
                }
                silent = true;
            }
            Err(error) => return Err(error),
        }
        let Some(until) = until else { return Err(EnrollError::StillPending { words }) };
        let next = next_poll();
        if next >= until {
            return Err(EnrollError::StillPending { words });
        }
        tokio::time::sleep_until(next.into()).await;
    }
}

fn keep(
    state: &State,
    device_id: DeviceId,
    device_name: &str,
    pending: Pending,
    issued: v1::IssuedCertificate,
) -> Result<Enrolled, EnrollError> {
    let Pending { addresses, key, first_config, .. } = pending;
    let v1::IssuedCertificate { certificate, not_after, authorities } = issued;
    let Renewed { certificate, authorities, not_after, lifetime } =
        check(certificate, &authorities, not_after, device_id, &key)?;
    let name: DeviceName = device_name.parse().map_err(|_| EnrollError::Answer("device name"))?;
    let identity = Identity {
        device_id,
        name: name.clone(),
        addresses,
        renew_at: renew_at(now_ms(), not_after, lifetime, rand::random()),
        not_after,
        certificate,
        authorities,
        key,
    };
    // Parts of two identities must not mix: the old one is removed first, so the new one is complete or
    // missing.
    Identity::retire(state)?;
    identity.save(state)?;
    Pending::forget(state)?;
    Ok(Enrolled { device_id, name, not_after, first_config })
}
