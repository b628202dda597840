//! Why an enrollment fails, in the words that the device or its installer reads.

use std::net::IpAddr;

use orion_mtls::{CsrError, MtlsError};

use crate::fleet::presence::ConnectError;
use crate::store::{DeviceState, RedeemError, StoreError};

/// Why an enrollment fails.
#[derive(Debug, thiserror::Error)]
pub enum EnrollError {
    /// The invitation is unknown or its secret is wrong; the error does not say which.
    #[error("this token is not one of this backend's; make a new one with `orion devices invite`")]
    Unknown,
    /// The invitation has expired.
    #[error("this token has expired; make a new one with `orion devices invite`")]
    Expired,
    /// An admin withdrew the invitation.
    #[error("an admin withdrew this token; ask for another one")]
    Withdrawn,
    /// The invitation has no uses left.
    #[error(
        "this token was used as often as it may be; make a new one with `orion devices invite`"
    )]
    Spent,
    /// The token may not be used from this address.
    #[error("this token may not be used from {0}. Ask the admin who made it")]
    Network(IpAddr),
    /// The token is for devices of other platforms.
    #[error(
        "this token is for {allowed}, and this device says that it is `{stated}`. Ask the admin who made it"
    )]
    Platform {
        /// The platforms of the token.
        allowed: String,
        /// The platform that the device stated.
        stated: String,
    },
    /// The token is for another device's key.
    #[error("this request was confirmed for the key of another device. Ask again for a code")]
    NotThisKey,
    /// The certificate request is not valid.
    #[error("the certificate request is not one: {0}")]
    Request(#[from] CsrError),
    /// The suggested name is not a valid device name.
    #[error("`{0}` cannot be a device's name: use lower-case letters, digits, `-`, `_` and `.`")]
    Name(String),
    /// The suggested name is the backend's.
    #[error("`backend` is the name of the backend itself; choose another name for the device")]
    Reserved,
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
    #[error("this device is {}. Ask an admin of the backend about it", .0.as_str())]
    Held(DeviceState),
    /// A device with this key is in the database, in whatever state.
    #[error(
        "a device with this key exists already, and a revoked or quarantined key cannot enrol again. Ask an admin of the backend"
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
    /// The certificate expired longer ago than it may be renewed.
    #[error(
        "this device's certificate expired too long ago to be renewed; enrol it again with a token of `orion devices invite`"
    )]
    TooLate,
    /// The counter of connections did not grow: there are two copies of the device.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The store failed.
    #[error("the database could not be written; nothing was changed")]
    Store(#[from] StoreError),
}

impl From<RedeemError> for EnrollError {
    fn from(error: RedeemError) -> Self {
        match error {
            RedeemError::Unknown => Self::Unknown,
            RedeemError::Expired => Self::Expired,
            RedeemError::Revoked => Self::Withdrawn,
            RedeemError::Spent => Self::Spent,
            RedeemError::Network(address) => Self::Network(address),
            RedeemError::Platform { allowed, stated } => Self::Platform { allowed, stated },
            RedeemError::OtherKey => Self::NotThisKey,
            RedeemError::KeyKnown => Self::KeyKnown,
            RedeemError::Store(error) => Self::Store(error),
        }
    }
}
