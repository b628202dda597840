//! Errors of an enrolment, with messages that say what to do.

use orion_mtls::{FingerprintError, MtlsError, Refusal};

use crate::connect::ConnectError;
use crate::state::StateError;

/// Why enrolling did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum EnrollError {
    /// The token has expired.
    #[error(
        "this token has expired; make a new one with `orion devices invite`. If it is new, check this device's clock"
    )]
    Expired,
    /// The device is enrolled already.
    #[error(
        "this device is enrolled already (as {name} at that time); with --force it becomes a new device and its old certificate is of no use any more"
    )]
    AlreadyEnrolled {
        /// The device's name.
        name: String,
    },
    /// No token was given, and no enrolment is pending.
    #[error(
        "no enrolment is waiting for approval here; give the token that an admin makes with `orion devices invite`: `orion-agent enroll TOKEN`, or the backend's address to show a code: `orion-agent enroll --server HOST`"
    )]
    NothingPending,
    /// The server does not match the token's pins. Nothing was sent to it.
    #[error("{0}. Nothing was sent to it")]
    WrongBackend(Refusal),
    /// The backend rejected the token.
    #[error("the backend did not take the token: {0}")]
    Refused(String),
    /// The backend accepts no further device at the moment.
    #[error("the backend takes no more for the moment: {0}. Run the same command again later")]
    TooMany(String),
    /// The backend rejected the request for a code.
    #[error(
        "the backend did not take the request: {0}. Run the same command again for another code, or ask an admin for a token"
    )]
    NotAsked(String),
    /// No admin confirmed the code in time, or the backend has forgotten it.
    #[error(
        "no admin confirmed this device before the end of its code, or the backend was restarted meanwhile. Nothing was kept; run the same command again for another code"
    )]
    CodeEnded,
    /// An admin refused the device.
    #[error("an admin refused this device; ask why before you try again")]
    CodeRefused,
    /// Nobody can type the admin's words here.
    #[error(
        "give --ca-fingerprint SHA256 (an admin sees it with `orion-server ca list`), as there is no terminal to type the admin's words at. Nothing was sent"
    )]
    NoTerminal,
    /// The terminal cannot be read.
    #[error("the terminal cannot be read: {0}. Nothing was kept")]
    Terminal(std::io::Error),
    /// The words that were typed are not those of this request.
    #[error(
        "these are not the words that the admin of this device's backend sees: another machine may be between this device and the backend, and it may have said by itself that an admin confirmed. Nothing was kept, and an earlier identity of this device is as it was. Try from another network, or ask an admin for a token"
    )]
    OtherAnswer,
    /// Nobody gives codes at that address: it is the port for people, or the backend is older than codes.
    #[error(
        "nobody gives codes at this address. It may be the port for people: devices use 7443, unless the admin chose another. Or the backend is older and has no codes: then ask an admin for a token"
    )]
    NoCodes,
    /// The request was sent, and the answer did not arrive.
    #[error(
        "the backend may have taken this device in, but its answer did not arrive: {0}. Run the same command again: it goes on where it was, and the token is not spent twice"
    )]
    NoAnswer(ConnectError),
    /// An enrolment was begun and has no answer yet.
    #[error(
        "this device has requested enrolment and has no answer yet; run `orion-agent enroll` to go on"
    )]
    Unfinished,
    /// An admin rejected the device.
    #[error("an admin rejected this device; ask why before you try again with a new token")]
    Rejected,
    /// No admin has decided yet.
    #[error(
        "this device still waits for an admin's approval (`orion devices approve`, fingerprint {words}); run `orion-agent enroll` without a token to go on waiting"
    )]
    StillPending {
        /// The fingerprint of the device's key, in words.
        words: String,
    },
    /// The backend's answer is invalid.
    #[error(
        "the backend's answer has no usable {0}; the versions of backend and agent may not fit"
    )]
    Answer(&'static str),
    /// The connection failed or was lost.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The token's pins are invalid.
    #[error(transparent)]
    Pins(#[from] FingerprintError),
    /// The key could not be generated or used.
    #[error(transparent)]
    Mtls(#[from] MtlsError),
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
}

impl EnrollError {
    /// Returns whether a retry may succeed.
    #[must_use]
    pub const fn passes(&self) -> bool {
        match self {
            Self::Connect(error) | Self::NoAnswer(error) => !error.is_lasting(),
            Self::TooMany(_) => true,
            Self::Expired
            | Self::AlreadyEnrolled { .. }
            | Self::NothingPending
            | Self::WrongBackend(_)
            | Self::Refused(_)
            | Self::NotAsked(_)
            | Self::CodeEnded
            | Self::CodeRefused
            | Self::NoTerminal
            | Self::Terminal(_)
            | Self::OtherAnswer
            | Self::NoCodes
            | Self::Unfinished
            | Self::Rejected
            | Self::StillPending { .. }
            | Self::Answer(_)
            | Self::Pins(_)
            | Self::Mtls(_)
            | Self::State(_) => false,
        }
    }
}
