//! Enrollment by a code, with the habits of RFC 8628: a device without a token shows a short code, an admin types it
//! and compares words, and the confirmation is an invitation for that device's key alone. The device then enrolls
//! with it as with any other ([`enroll`](super::enroll)), so that there is one path to a certificate.
//!
//! A device without a token knows no authority. The words cover the authority that it met and its own key
//! ([`Comparison`](orion_mtls::Comparison)), so that somebody in between shows other words at each end.

mod error;
mod requests;
mod wrong_codes;

use std::net::IpAddr;

use orion_domain::enrollment_code::CODE_LETTERS;
use orion_domain::id::InviteId;
use orion_domain::{Caller, DeviceName, Digest, EnrollmentCode, Grants};
use orion_mtls::{Fingerprint, VerifiedCsr, typed_words};
use orion_policy::Labels;
use serde_json::json;

use self::requests::{CodeRequests, OpenRequest};
use super::Enrollment;
use super::redemption::{MAX_TICKET_BYTES, MIN_TICKET_BYTES, display, own_name, platform};
use crate::clock::{new_uuid, now_ms};
use crate::listen::Source;
use crate::store::{DeviceState, EnrollmentRequestRecord, InviteScope, NewInvite, StoreError};

pub use error::CodeError;
pub use requests::RequestState;

/// How long a confirmed device may take to enroll, in milliseconds. It asks every few seconds.
const CONFIRMED_MS: i64 = 10 * 60_000;
/// How often a code is drawn before it is given up on. A code that is taken is one of 64 in 20⁸.
const DRAWS: usize = 8;

/// The devices that ask to be enrolled by a code.
#[derive(Debug)]
pub struct ByCode {
    requests: CodeRequests,
    /// How long a code is good, in seconds. 0 where there are none.
    code_seconds: u32,
}

impl ByCode {
    /// Creates the requests of a backend, of which there are none.
    #[must_use]
    pub fn new(code_seconds: u32) -> Self {
        Self { requests: CodeRequests::default(), code_seconds }
    }
}

/// A device that asks to be enrolled without a token. Everything but the address is what it states itself.
#[derive(Debug)]
pub struct Asking {
    /// The certificate request, in PEM.
    pub certificate_request: String,
    /// SHA-256 of the device's secret, hexadecimal.
    pub commitment: String,
    /// The fingerprint of the authority that it met, hexadecimal.
    pub authority: String,
    /// The name that it suggests; may be empty.
    pub suggested_name: String,
    /// Its host name.
    pub hostname: String,
    /// Its operating system.
    pub os: String,
    /// Its architecture.
    pub arch: String,
    /// The version of its agent.
    pub agent_version: String,
    /// The address of its connection.
    pub address: IpAddr,
    /// What the address counts as.
    pub source: Source,
}

/// The answer to a device that asks.
#[derive(Debug)]
pub struct Asked {
    /// The request's id.
    pub request_id: InviteId,
    /// The code to show.
    pub code: EnrollmentCode,
    /// The random number that the words cover.
    pub nonce: [u8; 32],
    /// How long the code is good, in seconds.
    pub expires_in_seconds: u32,
}

/// A request as an admin sees it. Everything but the address is what the device states itself. The words are not part
/// of it: the admin types those that the device shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestView {
    /// What the audit log has of it.
    pub record: EnrollmentRequestRecord,
    /// The version of the agent.
    pub agent_version: String,
    /// When it was made, Unix milliseconds.
    pub requested_at: i64,
    /// When its code ends, Unix milliseconds.
    pub expires_at: i64,
}

/// A request that is confirmed.
#[derive(Debug)]
pub struct Confirmed {
    /// The request.
    pub view: RequestView,
    /// Until when the device may enroll, Unix milliseconds.
    pub valid_until: i64,
    /// The words that a person types at the device.
    pub answer: String,
}

/// What an admin gives a device that is confirmed.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// The device's name. None: the one that it suggests.
    pub name: Option<DeviceName>,
    /// The grants that it starts with.
    pub grants: Grants,
    /// Its labels.
    pub labels: Labels,
}

impl From<OpenRequest> for RequestView {
    fn from(request: OpenRequest) -> Self {
        let OpenRequest { record, agent_version, requested_at, expires_at, .. } = request;
        Self { record, agent_version, requested_at, expires_at }
    }
}

/// Keeps a device's request for as long as its code is good and the device asks. Nothing is stored: a stranger writes
/// nothing.
///
/// # Errors
/// Codes are turned off, the request is not valid, the device met another authority, or there are too many; then
/// nothing is kept.
pub fn request(enrollment: &Enrollment, asking: Asking) -> Result<Asked, CodeError> {
    let ByCode { requests, code_seconds } = &*enrollment.by_code;
    if *code_seconds == 0 {
        return Err(CodeError::Off);
    }
    let now = now_ms();
    // A flood is refused before a signature is verified for it.
    requests.has_room(&asking.source, now)?;
    let key = VerifiedCsr::parse(asking.certificate_request.as_bytes())?.public_key_fingerprint();
    let commitment: Digest =
        asking.commitment.parse().map_err(|_| CodeError::Malformed("commitment"))?;
    let authority: Fingerprint =
        asking.authority.parse().map_err(|_| CodeError::Malformed("authority"))?;
    // One that is being retired or not shown yet was not met by this device.
    if enrollment.authority.set().shown(now).fingerprint() != authority {
        return Err(CodeError::OtherAuthority);
    }
    let name = own_name(&asking.suggested_name, &asking.hostname)?;
    let mut open = OpenRequest {
        record: EnrollmentRequestRecord {
            request_id: InviteId::new(new_uuid()),
            address: asking.address,
            device_name: name.into(),
            hostname: display(&asking.hostname),
            platform: platform(&asking.os, &asking.arch),
            public_key_fingerprint: key.to_string(),
            by: None,
        },
        agent_version: display(&asking.agent_version),
        code: draw(),
        source: asking.source,
        commitment,
        authority,
        key,
        nonce: rand::random(),
        shown: None,
        state: RequestState::Waiting,
        is_found: false,
        requested_at: now,
        seen: now,
        expires_at: now + i64::from(*code_seconds) * 1000,
    };
    let mut draws = 1;
    while !requests.keep(open.clone())? {
        if draws == DRAWS {
            return Err(CodeError::Busy("at this backend"));
        }
        (open.code, draws) = (draw(), draws + 1);
    }
    let OpenRequest { record, code, nonce, .. } = open;
    let expires_in_seconds = *code_seconds;
    Ok(Asked { request_id: record.request_id, code, nonce, expires_in_seconds })
}

fn draw() -> EnrollmentCode {
    let letters = EnrollmentCode::alphabet();
    EnrollmentCode::new([(); CODE_LETTERS].map(|()| rand::random_range(0..letters)))
}

/// Returns what became of a request, for the device that knows its secret.
///
/// # Errors
/// There is no such request, or the secret is another one.
pub fn state(
    enrollment: &Enrollment,
    id: InviteId,
    secret: &str,
) -> Result<RequestState, CodeError> {
    if !(MIN_TICKET_BYTES..=MAX_TICKET_BYTES).contains(&secret.len()) {
        return Err(CodeError::Malformed("secret"));
    }
    enrollment.by_code.requests.reveal(id, secret, now_ms())
}

/// Returns the request with this code, for an admin who decides.
///
/// # Errors
/// The code is wrong, too many were, or somebody decided.
pub async fn find(
    enrollment: &Enrollment,
    by: &Caller,
    code: &str,
) -> Result<RequestView, CodeError> {
    found(enrollment, by, code.parse()?, now_ms()).await.map(RequestView::from)
}

/// Finds a request, which the audit log has from the first time on.
async fn found(
    enrollment: &Enrollment,
    by: &Caller,
    code: EnrollmentCode,
    now: i64,
) -> Result<OpenRequest, CodeError> {
    let requests = &enrollment.by_code.requests;
    let found = requests.find(code, &by.user, now);
    let request = counted(enrollment, by, found, now).await?;
    let id = request.record.request_id;
    if !requests.set_found(id, true) {
        let kind = "enrollment.requested";
        let recorded = enrollment.devices.store.audit_event(kind, &request.record, now).await;
        if let Err(error) = recorded {
            requests.set_found(id, false);
            return Err(error.into());
        }
    }
    Ok(request)
}

/// Makes the invitation of a request, for its key alone, and then returns what the device has to be told.
///
/// # Errors
/// The code or the words are wrong, somebody decided, or the store failed; then the request stays open.
pub async fn confirm(
    enrollment: &Enrollment,
    by: &Caller,
    code: &str,
    words: &str,
    terms: Terms,
) -> Result<Confirmed, CodeError> {
    let (code, words, now) = (code.parse()?, typed_words(words), now_ms());
    let requests = &enrollment.by_code.requests;
    let grants = serde_json::to_string(&terms.grants)?;
    let OpenRequest { record, .. } = found(enrollment, by, code, now).await?;
    // The name that the admin has seen, and not what the device says later.
    let shown = record.device_name.parse().map_err(|_| CodeError::Malformed("name"))?;
    let name = terms.name.unwrap_or(shown);
    if is_taken(enrollment, &name).await? {
        return Err(CodeError::NameTaken(name));
    }
    let active = enrollment.devices.policies.active();
    let labelled = active.file.as_ref().is_some_and(|file| file.labels(&name).is_some());
    if labelled && !terms.labels.is_empty() {
        return Err(CodeError::LabelsOfFile(name));
    }
    let claimed = requests.claim(code, &words, &by.user, now);
    let mut request = counted(enrollment, by, claimed, now).await?;
    request.record.by = Some(by.user.clone());
    let (id, until) = (request.record.request_id, now + CONFIRMED_MS);
    let new = NewInvite {
        id,
        // The device has shown that it knows the secret. It is the invitation's.
        secret_hash: request.commitment,
        name: Some(name),
        uses: 1,
        preapproved: true,
        grants,
        labels: terms.labels,
        scope: InviteScope {
            public_key: Some(request.record.public_key_fingerprint.clone()),
            ..InviteScope::default()
        },
        created_by: by.user.clone(),
        created_at: now,
        expires_at: until,
    };
    let stored = enrollment.devices.store.confirm_enrollment(new, &request.record).await;
    requests.settle(id, stored.is_ok().then(|| (by.user.clone(), until)));
    stored?;
    let answer = request.shown.take().map(|shown| shown.answer).unwrap_or_default();
    Ok(Confirmed { view: request.into(), valid_until: until, answer })
}

/// Returns whether a device that was neither rejected nor revoked has the name.
async fn is_taken(enrollment: &Enrollment, name: &DeviceName) -> Result<bool, StoreError> {
    match enrollment.devices.store.device(name.as_str()).await {
        Ok(device) => {
            let has_ended = matches!(device.state, DeviceState::Rejected | DeviceState::Revoked);
            Ok(device.name == *name && !has_ended)
        }
        Err(StoreError::NotFound | StoreError::Ambiguous) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Turns the device with this code away.
///
/// # Errors
/// The code is wrong, too many were, somebody decided, or the store failed; then the device is turned away all the
/// same.
pub async fn refuse(
    enrollment: &Enrollment,
    by: &Caller,
    code: &str,
) -> Result<RequestView, CodeError> {
    let (code, now) = (code.parse()?, now_ms());
    found(enrollment, by, code, now).await?;
    let refused = enrollment.by_code.requests.refuse(code, &by.user, now);
    let mut request = counted(enrollment, by, refused, now).await?;
    request.record.by = Some(by.user.clone());
    enrollment.devices.store.audit_event("enrollment.refused", &request.record, now).await?;
    Ok(request.into())
}

/// Ends the requests whose time is over. Returns how many of them an admin had found.
///
/// # Errors
/// The store failed; what is left ends the next time.
pub async fn expire(enrollment: &Enrollment, now: i64) -> Result<usize, StoreError> {
    let expired = enrollment.by_code.requests.expired(now);
    for record in &expired {
        enrollment.devices.store.audit_event("enrollment.expired", record, now).await?;
        enrollment.by_code.requests.forget(record.request_id);
    }
    Ok(expired.len())
}

/// Records a wrong code or wrong words. There are only so many of one person.
async fn counted<T>(
    enrollment: &Enrollment,
    by: &Caller,
    result: Result<T, CodeError>,
    now: i64,
) -> Result<T, CodeError> {
    let body = match &result {
        Err(CodeError::WrongCode) => json!({"by": by.user, "wrong": "code"}),
        Err(CodeError::OtherWords { request_id, address }) => {
            let why =
                "wrong words of a device that asks: somebody may be between it and the backend";
            tracing::warn!(request = %request_id, %address, by = %by.user, "{why}");
            json!({"by": by.user, "wrong": "words", "request_id": request_id, "address": address})
        }
        Ok(_) | Err(_) => return result,
    };
    enrollment.devices.store.audit_event("enrollment.wrong_code", body, now).await?;
    result
}
