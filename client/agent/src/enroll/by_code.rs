//! Enrolment without a token: the device shows a code, and an admin who types it compares words with the device.
//!
//! The device knows no authority yet. It keeps to the one that it met first, and shows words that cover that authority
//! and its own key, so that the backend refuses those of a device with somebody in between. It does not believe its
//! peer that an admin confirmed: the admin then sees two words more, which a person types here. Nothing is written
//! down before they are the right ones; then the device enrols as with any token.

use std::fmt;
use std::io;
use std::net::Ipv6Addr;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use orion_domain::id::InviteId;
use orion_domain::{DeviceName, Digest, EnrollmentCode, Secret};
use orion_mtls::{Comparison, DeviceKey, Fingerprint, PinSet, typed_words};
use orion_wire::v1;

use super::ask::Backend;
use super::{EnrollError, Enrolled, Notice, Replace, go_on, next_poll};
use crate::state::{EnrollmentStage, Identity, Pending, State};

/// The port for devices, where an address names none.
const DEVICE_PORT: u16 = 7443;
/// The longest that a code is waited for, whatever the backend says.
const MAX_WAIT: Duration = Duration::from_hours(1);
/// How long a confirmed device tries to reach the backend again. Its invitation is good for as long.
const MAX_REACH: Duration = Duration::from_mins(10);
/// How often the words of the admin may be typed.
const MAX_TRIES: u32 = 3;

/// Reads a line that a person types. None at the end of the input.
pub type ReadLine = Box<dyn FnMut() -> BoxFuture<'static, io::Result<Option<String>>> + Send>;

/// How the device learns that it speaks with the admin's backend.
pub enum Proof {
    /// It knows the backend's authority, and asks no other.
    Authority(Fingerprint),
    /// A person types the words that the admin sees after the confirmation.
    Answer(ReadLine),
}

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Authority(authority) => f.debug_tuple("Authority").field(authority).finish(),
            Self::Answer(_) => f.write_str("Answer"),
        }
    }
}

/// The parameters of an enrolment by a code.
#[derive(Debug)]
pub struct CodeEnrollment {
    /// The backend's address, `host:port`.
    pub address: String,
    /// How the backend is known to be the right one.
    pub proof: Proof,
    /// The suggested name; the admin decides. None to suggest none.
    pub name: Option<DeviceName>,
    /// Whether an enrolled device becomes another one.
    pub replace: Replace,
    /// How long to wait for the admin at most.
    pub wait: Duration,
    /// The first `agent.toml` that the person asks for.
    pub first_config: Option<String>,
}

/// Reads an address as a person writes it, and adds the port for devices where it names none.
///
/// # Errors
/// What to write instead.
pub fn device_address(text: &str) -> Result<String, String> {
    let is_bracketed = text.starts_with('[') && text.ends_with(']');
    let whole = match text.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}]:{DEVICE_PORT}"),
        Err(_) if text.contains(':') && !is_bracketed => text.to_owned(),
        Err(_) => format!("{text}:{DEVICE_PORT}"),
    };
    if !orion_wire::is_address(&whole) {
        return Err("write HOST or HOST:PORT, such as orion.example or 192.168.1.5:7443".to_owned());
    }
    Ok(whole)
}

/// Asks for a code, shows it, and enrols once an admin has confirmed it.
///
/// # Errors
/// [`EnrollError`]; then the device keeps its earlier identity, unless it was to be replaced.
pub async fn enroll_by_code(
    state: &State,
    wanted: CodeEnrollment,
    say: &mut (dyn FnMut(Notice) + Send),
) -> Result<Enrolled, EnrollError> {
    let CodeEnrollment { address, proof, name, replace, wait, first_config } = wanted;
    if replace == Replace::Refuse
        && let Some(identity) = Identity::read(state.dir())?
    {
        return Err(EnrollError::AlreadyEnrolled { name: identity.name.to_string() });
    }
    let key = DeviceKey::generate()?;
    let secret = Secret::new(Digest::of(&rand::random::<[u8; 32]>()).to_string());
    let (known, mut read_line) = match proof {
        Proof::Authority(authority) => (Some(authority), None),
        Proof::Answer(read_line) => (None, Some(read_line)),
    };
    let (mut backend, authority) = Backend::meet(&address, known).await?;
    // No other authority counts from here on, whoever answers next.
    let pins = PinSet::new([authority])?;
    let request = v1::RequestEnrollmentRequest {
        certificate_request: key.csr()?,
        commitment: Digest::of(secret.expose().as_bytes()).to_string(),
        authority: authority.to_string(),
        suggested_name: name.clone().map(String::from).unwrap_or_default(),
        hostname: crate::facts::hostname(),
        os: orion_wire::Os::current().as_str().to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let v1::RequestEnrollmentResponse { request_id, code, nonce, expires_in_seconds } =
        backend.request(request).await?;
    let request_id: InviteId = request_id.parse().map_err(|_| EnrollError::Answer("request"))?;
    let code: EnrollmentCode = code.parse().map_err(|_| EnrollError::Answer("code"))?;
    let nonce = <[u8; 32]>::try_from(&*nonce).map_err(|_| EnrollError::Answer("random number"))?;
    let valid = Duration::from_secs(expires_in_seconds.into()).min(MAX_WAIT);
    let until = Instant::now() + valid.min(wait);
    let comparison =
        Comparison { authority, key: key.fingerprint(), nonce, secret: secret.expose() };
    let (words, answer) = (comparison.words(), comparison.answer());
    let mut shown = Some(Notice::Code { code: code.to_string(), words, valid });
    let mut backend = Some(backend);
    let mut silent = false;
    loop {
        let asked = async {
            let mut reached = match backend.take() {
                Some(reached) => reached,
                None => Backend::reach(std::slice::from_ref(&address), &pins).await?,
            };
            let state = reached.confirmation(request_id, secret.expose()).await?;
            backend = Some(reached);
            Ok::<_, EnrollError>(state)
        };
        match asked.await {
            Ok(state) => {
                silent = false;
                match state {
                    v1::ConfirmationState::Confirmed => break,
                    v1::ConfirmationState::Refused => return Err(EnrollError::CodeRefused),
                    // The code finds this device from the first answer on.
                    v1::ConfirmationState::Waiting => shown.take().into_iter().for_each(&mut *say),
                    v1::ConfirmationState::Unspecified => return Err(EnrollError::Answer("state")),
                }
            }
            Err(error) if error.passes() => {
                if !silent {
                    say(Notice::Unreachable { why: error.to_string() });
                }
                silent = true;
            }
            Err(error) => return Err(error),
        }
        if Instant::now() >= until {
            return Err(EnrollError::CodeEnded);
        }
        // The last time is at the end itself.
        tokio::time::sleep_until(next_poll().min(until).into()).await;
    }
    // Whoever answers may say that it is confirmed. The words are always shown before anything is asked.
    shown.take().into_iter().for_each(&mut *say);
    if let Some(read_line) = &mut read_line {
        is_answered(read_line, &answer, say).await?;
    }
    let pending = Pending {
        stage: EnrollmentStage::Asked { invite: request_id, secret, name },
        ticket: Secret::new(Digest::of(&rand::random::<[u8; 32]>()).to_string()),
        addresses: vec![address.clone()],
        pins: pins.to_string(),
        key,
        first_config,
    };
    let backend = reach_again(&address, &pins, say).await?;
    go_on(state, pending, Some(wait), Some(backend), say).await
}

/// Has a person type the words that the admin sees.
async fn is_answered(
    read_line: &mut ReadLine,
    answer: &str,
    say: &mut (dyn FnMut(Notice) + Send),
) -> Result<(), EnrollError> {
    let mut wrong = 0;
    loop {
        say(Notice::Confirmed { wrong });
        let typed = read_line().await.map_err(EnrollError::Terminal)?;
        let typed = typed_words(&typed.ok_or(EnrollError::OtherAnswer)?);
        if typed == answer {
            return Ok(());
        }
        // A mere Enter is no answer.
        wrong += u32::from(!typed.is_empty());
        if wrong == MAX_TRIES {
            return Err(EnrollError::OtherAnswer);
        }
    }
}

/// Reaches the backend after a person has typed, however long that took: a lost connection is no reason to ask them
/// again.
async fn reach_again(
    address: &str,
    pins: &PinSet,
    say: &mut (dyn FnMut(Notice) + Send),
) -> Result<Backend, EnrollError> {
    let until = Instant::now() + MAX_REACH;
    let mut silent = false;
    loop {
        match Backend::reach(&[address.to_owned()], pins).await {
            Err(error) if error.passes() && next_poll() < until => {
                if !std::mem::replace(&mut silent, true) {
                    say(Notice::Unreachable { why: error.to_string() });
                }
                tokio::time::sleep_until(next_poll().into()).await;
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_port_for_devices_unless_it_names_another() {
        for (written, read) in [
            ("orion.example", "orion.example:7443"),
            ("orion.example:443", "orion.example:443"),
            ("192.168.1.5", "192.168.1.5:7443"),
            ("::1", "[::1]:7443"),
            ("[::1]", "[::1]:7443"),
            ("[2001:db8::1]:9", "[2001:db8::1]:9"),
        ] {
            assert_eq!(device_address(written).as_deref(), Ok(read), "{written}");
        }
        for wrong in [
            "",
            ":7443",
            "https://orion.example",
            "orion.example:0",
            "orion.example:x",
            "a b",
            "a/b",
        ] {
            assert!(device_address(wrong).is_err(), "{wrong}");
        }
    }
}
