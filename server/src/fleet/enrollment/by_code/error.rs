//! Why enrolment by a code fails, in the words that the device or the admin reads.

use std::net::IpAddr;

use orion_domain::enrollment_code::NotACode;
use orion_domain::id::InviteId;
use orion_domain::{DeviceName, UserName};
use orion_mtls::CsrError;

use crate::fleet::enrollment::EnrollError;
use crate::store::StoreError;

/// Why enrolment by a code fails.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// The configuration turns it off.
    #[error("this backend enrols no device by a code")]
    Off,
    /// There are too many open requests.
    #[error("too many devices {0} ask to be enrolled at this moment")]
    Busy(&'static str),
    /// The certificate request is not valid.
    #[error("the certificate request is not one: {0}")]
    Request(#[from] CsrError),
    /// The name, or another part of the request, is not valid.
    #[error(transparent)]
    Invalid(Box<EnrollError>),
    /// The commitment or the fingerprint of the authority is not one, or the secret has another length.
    #[error("the request has no usable {0}; the agent may be of another version")]
    Malformed(&'static str),
    /// The device met an authority that is not one of this backend's.
    #[error("the device met another certificate authority than this backend's")]
    OtherAuthority,
    /// There is no such request, or the secret is another one.
    #[error("there is no such request: its code has expired, or the backend was restarted since")]
    Ended,
    /// The text is no code.
    #[error(transparent)]
    NotACode(#[from] NotACode),
    /// No device shows this code.
    #[error("no device that asks to be enrolled shows this code")]
    WrongCode,
    /// The person typed too many wrong codes.
    #[error("too many wrong codes were typed")]
    Locked {
        /// Minutes until the next is accepted.
        minutes: i64,
    },
    /// The words are not those of the request.
    #[error("these are not the words of this request, so it was not confirmed")]
    OtherWords {
        /// The request.
        request_id: InviteId,
        /// Where its device asked from.
        address: IpAddr,
    },
    /// Labels were given to a device whose labels the policy file says.
    #[error("the policy file says the labels of {0}, so these would not count")]
    LabelsOfFile(DeviceName),
    /// Somebody decided already.
    #[error("this request was {how} already, by {by}")]
    Decided {
        /// Who decided.
        by: UserName,
        /// How.
        how: &'static str,
    },
    /// Another device has the name. It would get a number, which nobody has seen.
    #[error("there is a device {0} already, so the request was not confirmed")]
    NameTaken(DeviceName),
    /// The grants cannot be written down.
    #[error("the grants cannot be stored: {0}")]
    Grants(#[from] serde_json::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<EnrollError> for CodeError {
    fn from(error: EnrollError) -> Self {
        Self::Invalid(Box::new(error))
    }
}
