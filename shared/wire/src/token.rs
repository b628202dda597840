//! The enrolment token: one line that a person pastes on a new device. It contains the backend's
//! addresses and pins, and the secret that spends one use of an invitation.
//!
//! `orion1.` and base64url (no padding) of JSON followed by the first four bytes of its SHA-256, so that
//! a line truncated while copying is distinguished from one that is wrong.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orion_domain::id::InviteId;
use orion_domain::{Digest, Secret};
use serde::{Deserialize, Serialize};

/// The prefix of every token; the digit is the format's version.
const PREFIX: &str = "orion1.";
/// The maximum length of a token, in bytes.
const MAX_BYTES: usize = 4096;
/// The maximum number of addresses, and of pins.
const MAX_ENTRIES: usize = 8;
/// The maximum length of an address or secret, in bytes.
const MAX_TEXT: usize = 300;
/// The number of digest bytes in the token.
const CHECKSUM: usize = 4;

/// The contents of an enrolment token. `Display` is the line itself, secret included; `Debug` hides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnrollmentToken {
    /// Where the backend listens for devices, `host:port`, in order of preference; one to eight.
    pub addresses: Vec<String>,
    /// SHA-256 of the certificates of the authorities that the backend may present; one to eight.
    pub pins: Vec<Digest>,
    /// The invitation's id.
    pub invite_id: InviteId,
    /// The secret that spends one use of the invitation.
    pub secret: Secret,
    /// Unix milliseconds. The invitation ends at this moment.
    pub expires_at: i64,
}

/// Why a text is no token. The message never repeats the text, which may hold a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The text is empty.
    #[error(
        "there is no enrolment token: what was to hold it is empty; give the token itself: `orion-agent enroll orion1.…`"
    )]
    Empty,
    /// The text has no token's prefix.
    #[error(
        "what was given is not an enrolment token, which begins with `orion1.`; check the name of the file or what was pasted, or make a token with `orion devices invite`"
    )]
    NotAToken,
    /// A token of another Orion version.
    #[error(
        "this enrolment token has another version than this program reads (`orion1`); use the agent that belongs to the backend"
    )]
    OtherVersion,
    /// The text is longer than any token.
    #[error(
        "this enrolment token is longer than {MAX_BYTES} bytes; paste the token's one line only"
    )]
    TooLong,
    /// Truncated or changed while it was copied.
    #[error("this enrolment token is incomplete or was changed; copy the whole line again")]
    Damaged,
    /// Complete, but one part is invalid.
    #[error(
        "this enrolment token is whole but its `{field}` can't be used; make a new one with `orion devices invite`"
    )]
    Content {
        /// The invalid part.
        field: &'static str,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload {
    addresses: Vec<String>,
    pins: Vec<Digest>,
    invite_id: InviteId,
    secret: String,
    expires_at: i64,
}

impl EnrollmentToken {
    /// Returns whether the invitation has expired at `now_ms`, Unix milliseconds.
    #[must_use]
    pub const fn is_expired(&self, now_ms: i64) -> bool {
        now_ms >= self.expires_at
    }

    fn check(&self) -> Result<(), TokenError> {
        let content = |field| Err(TokenError::Content { field });
        let Self { addresses, pins, invite_id: _, secret, expires_at } = self;
        if !(1..=MAX_ENTRIES).contains(&addresses.len())
            || !addresses.iter().all(|text| is_address(text))
        {
            return content("addresses");
        }
        if !(1..=MAX_ENTRIES).contains(&pins.len()) {
            return content("pins");
        }
        if !(1..=MAX_TEXT).contains(&secret.expose().len()) {
            return content("secret");
        }
        if *expires_at <= 0 {
            return content("expires_at");
        }
        Ok(())
    }
}

/// Returns whether the text is `host:port`, `[v6]:port` included.
#[must_use]
pub fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    text.len() <= MAX_TEXT
        && !host.is_empty()
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:%".contains(&b))
        && port.parse::<u16>().is_ok_and(|port| port > 0)
}

impl fmt::Display for EnrollmentToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let payload = Payload {
            addresses: self.addresses.clone(),
            pins: self.pins.clone(),
            invite_id: self.invite_id,
            secret: self.secret.expose().to_owned(),
            expires_at: self.expires_at,
        };
        let mut bytes = serde_json::to_vec(&payload).map_err(|_| fmt::Error)?;
        let checksum = Digest::of(&bytes);
        bytes.extend(checksum.as_bytes().iter().take(CHECKSUM));
        write!(f, "{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl FromStr for EnrollmentToken {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(TokenError::Empty);
        }
        if text.len() > MAX_BYTES {
            return Err(TokenError::TooLong);
        }
        let Some(encoded) = text.strip_prefix(PREFIX) else {
            let version = text.strip_prefix("orion").and_then(|rest| rest.split_once('.'));
            return Err(match version {
                Some((digits, _))
                    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) =>
                {
                    TokenError::OtherVersion
                }
                Some(_) | None => TokenError::NotAToken,
            });
        };
        let bytes = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| TokenError::Damaged)?;
        let at = bytes.len().checked_sub(CHECKSUM).ok_or(TokenError::Damaged)?;
        let (json, checksum) = bytes.split_at(at);
        if !Digest::of(json).as_bytes().starts_with(checksum) {
            return Err(TokenError::Damaged);
        }
        let Payload { addresses, pins, invite_id, secret, expires_at } =
            serde_json::from_slice(json).map_err(|_| TokenError::Content { field: "payload" })?;
        let token = Self { addresses, pins, invite_id, secret: Secret::new(secret), expires_at };
        token.check()?;
        Ok(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> EnrollmentToken {
        EnrollmentToken {
            addresses: vec!["orion.lan:7443".to_owned(), "[::1]:7443".to_owned()],
            pins: vec![Digest::of(b"authority")],
            invite_id: InviteId::new(uuid::Uuid::from_u128(7)),
            secret: Secret::new("hunter2"),
            expires_at: 1_800_000_000_000,
        }
    }

    #[test]
    fn a_token_survives_its_text_and_the_spaces_around_it() {
        let text = token().to_string();
        assert_eq!(text.parse(), Ok(token()));
        assert_eq!(format!("  {text}\r\n").parse(), Ok(token()));
    }

    #[test]
    fn every_cut_and_every_changed_character_is_noticed() {
        let text = token().to_string();
        for end in PREFIX.len()..text.len() {
            assert_eq!(text[..end].parse::<EnrollmentToken>(), Err(TokenError::Damaged), "{end}");
        }
        for at in PREFIX.len()..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(changed.parse::<EnrollmentToken>(), Err(TokenError::Damaged), "{at}");
        }
    }

    #[test]
    fn what_is_no_token_is_told_apart() {
        for (text, error) in [
            ("", TokenError::Empty),
            (" \n", TokenError::Empty),
            ("garbage", TokenError::NotAToken),
            ("orion.x", TokenError::NotAToken),
            ("orion2.abc", TokenError::OtherVersion),
            ("orion1.", TokenError::Damaged),
            ("orion1.???", TokenError::Damaged),
        ] {
            assert_eq!(text.parse::<EnrollmentToken>(), Err(error), "{text:?}");
        }
        let long = format!("orion1.{}", "A".repeat(MAX_BYTES));
        assert_eq!(long.parse::<EnrollmentToken>(), Err(TokenError::TooLong));
    }

    #[test]
    fn a_whole_token_must_still_be_usable() {
        let content = |field| Err(TokenError::Content { field });
        let with = |change: fn(&mut EnrollmentToken)| {
            let mut token = token();
            change(&mut token);
            token.to_string().parse::<EnrollmentToken>()
        };
        assert_eq!(with(|t| t.addresses.clear()), content("addresses"));
        assert_eq!(with(|t| t.addresses = vec!["no-port".to_owned()]), content("addresses"));
        assert_eq!(with(|t| t.addresses = vec!["a b:1".to_owned()]), content("addresses"));
        assert_eq!(with(|t| t.addresses = vec!["host:0".to_owned()]), content("addresses"));
        assert_eq!(with(|t| t.pins.clear()), content("pins"));
        assert_eq!(with(|t| t.secret = Secret::new("")), content("secret"));
        assert_eq!(with(|t| t.expires_at = 0), content("expires_at"));
    }

    #[test]
    fn debug_hides_the_secret_and_errors_repeat_nothing() {
        assert!(!format!("{:?}", token()).contains("hunter2"));
        assert!(!TokenError::Damaged.to_string().contains("hunter2"));
    }

    #[test]
    fn a_token_ends_at_its_last_moment() {
        assert!(!token().is_expired(1_799_999_999_999));
        assert!(token().is_expired(1_800_000_000_000));
    }
}
