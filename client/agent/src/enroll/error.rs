//! Why a device is not enrolled, in sentences that say what to do.

use orion_mtls::{FingerprintError, MtlsError, Refusal};

use crate::connect::ConnectError;
use crate::state::StateError;

/// Why enrolling did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum EnrollError {
    /// The token's time is over.
    #[error(
        "this token has expired; make a new one with `orion devices invite`. If it is new, check this device's clock"
    )]
    Expired,
    /// The device is one already.
    #[error(
        "this device is enrolled already, as {name}; with --force it becomes a new device and its old certificate is of no use any more"
    )]
    AlreadyEnrolled {
        /// Its name.
        name: String,
    },
    /// No token, and none before that waits.
    #[error("no enrolment is waiting for approval here; run `orion-agent enroll TOKEN`")]
    NothingPending,
    /// What answers is not the backend that the token speaks of. Nothing was sent to it.
    #[error("{0}. Nothing was sent to it")]
    WrongBackend(Refusal),
    /// The backend did not take the token.
    #[error("the backend did not take the token: {0}")]
    Refused(String),
    /// The backend takes nobody for the moment.
    #[error("the backend takes no more for the moment: {0}. Run the same command again later")]
    TooMany(String),
    /// The backend was asked, and what it said did not arrive.
    #[error(
        "the backend may have taken this device in, but its answer did not arrive: {0}. Run the same command again: it goes on where it was, and the token is not spent twice"
    )]
    NoAnswer(ConnectError),
    /// An enrolment was begun and has no answer yet.
    #[error(
        "this device has asked to be taken in and has no answer yet; run `orion-agent enroll` to go on"
    )]
    Unfinished,
    /// A person said no.
    #[error("an admin rejected this device; ask why before you try again with a new token")]
    Rejected,
    /// Nobody has decided yet.
    #[error(
        "this device still waits for an admin's approval (`orion devices approve`, fingerprint {words}); run `orion-agent enroll` without a token to go on waiting"
    )]
    StillPending {
        /// The fingerprint of its key, in words.
        words: String,
    },
    /// The backend answered with something that cannot be.
    #[error(
        "the backend's answer has no usable {0}; the versions of backend and agent may not fit"
    )]
    Answer(&'static str),
    /// No connection, or it broke.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The pins are none.
    #[error(transparent)]
    Pins(#[from] FingerprintError),
    /// The key could not be made.
    #[error(transparent)]
    Mtls(#[from] MtlsError),
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
}

impl EnrollError {
    /// Whether it may be otherwise in a moment.
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
