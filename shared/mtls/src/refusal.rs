//! Finds the reason of a failed handshake, from the device's side, and says what to do.
//!
//! A failed handshake reaches the application wrapped in the errors of several libraries, the outermost
//! of which says "transport error". The reason is inside.

use std::error::Error;
use std::io;

use rustls::{AlertDescription, CertificateError};

use crate::error::PeerError;

/// The maximum depth of unwrapped errors; real ones nest four or five deep.
const MAX_DEPTH: usize = 16;

/// A failed handshake whose reason is one of the two certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The backend's authority is not pinned by the invitation.
    #[error("{}", PeerError::NotPinned)]
    BackendNotPinned,
    /// What answered presents no authority of Orion's kind.
    #[error("{}", PeerError::NotOneAuthority)]
    BackendWithoutAuthority,
    /// The backend's certificate is not yet valid or expired, or this device's clock is wrong.
    #[error(
        "the backend's certificate is not valid at this time; check this device's clock, then the backend's certificate"
    )]
    BackendNotInDate,
    /// No authority that this device trusts signed the backend's certificate.
    #[error(
        "this device does not trust the backend that answered. Check the address. If the backend's authority was replaced, get a new token from an admin, stop the agent and run `orion-agent enroll TOKEN --force`"
    )]
    BackendUntrusted,
    /// The backend reports that this device's certificate is revoked.
    #[error(
        "the backend has revoked this device's certificate; to come back, an admin makes a token (`orion devices invite`), and on the device this agent is stopped and `orion-agent enroll TOKEN --force` is run"
    )]
    DeviceRevoked,
    /// The backend reports that this device's certificate is not yet valid or expired (TLS has one alert
    /// for both).
    #[error(
        "this device's certificate is not valid at this time; check the clocks of the device and the backend. If it expired longer ago than devices may renew it (`[devices] renew_within_days` of the backend), enrol the device again with a token of `orion devices invite`"
    )]
    DeviceNotInDate,
    /// The backend rejects this device's certificate for another reason.
    #[error(
        "the backend doesn't know this device's certificate, as when its authority was replaced while the device was away; to come back, an admin makes a token (`orion devices invite`), and on the device this agent is stopped and `orion-agent enroll TOKEN --force` is run"
    )]
    DeviceUntrusted,
}

impl Refusal {
    /// Finds the reason in an error of any library that wraps a rustls error; `None` when the failure
    /// has another cause.
    pub fn find(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut next = Some(error);
        for _ in 0..MAX_DEPTH {
            let error = next?;
            if let Some(error) = error.downcast_ref::<rustls::Error>() {
                return Self::from_tls(error);
            }
            // An I/O error's `source` skips the error that it wraps, so the wrapped error is read first.
            next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
                Some(inner) => Some(inner),
                None => error.source(),
            };
        }
        None
    }

    fn from_tls(error: &rustls::Error) -> Option<Self> {
        if let rustls::Error::AlertReceived(alert) = error {
            return Self::from_alert(*alert);
        }
        let rustls::Error::InvalidCertificate(reason) = error else {
            return None;
        };
        if let CertificateError::Other(other) = reason {
            match other.0.downcast_ref::<PeerError>() {
                Some(PeerError::NotPinned) => return Some(Self::BackendNotPinned),
                Some(PeerError::NotOneAuthority) => return Some(Self::BackendWithoutAuthority),
                Some(_) | None => {}
            }
        }
        let in_date = !matches!(
            reason,
            CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. }
        );
        Some(if in_date { Self::BackendUntrusted } else { Self::BackendNotInDate })
    }

    fn from_alert(alert: AlertDescription) -> Option<Self> {
        if alert == AlertDescription::CertificateRevoked {
            Some(Self::DeviceRevoked)
        } else if alert == AlertDescription::CertificateExpired {
            Some(Self::DeviceNotInDate)
        } else if [
            AlertDescription::BadCertificate,
            AlertDescription::UnsupportedCertificate,
            AlertDescription::CertificateUnknown,
            AlertDescription::UnknownCA,
            AlertDescription::AccessDenied,
            AlertDescription::CertificateRequired,
        ]
        .contains(&alert)
        {
            Some(Self::DeviceUntrusted)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("transport error")]
    struct Transport(#[source] io::Error);

    #[test]
    fn the_reason_is_found_inside_other_errors() {
        let inner = rustls::Error::AlertReceived(AlertDescription::CertificateRevoked);
        let error = Transport(io::Error::other(Transport(io::Error::other(inner))));
        assert_eq!(Refusal::find(&error), Some(Refusal::DeviceRevoked));
    }

    #[test]
    fn failures_that_are_not_about_certificates_are_left_alone() {
        let refused = Transport(io::ErrorKind::ConnectionRefused.into());
        assert_eq!(Refusal::find(&refused), None);
        let alert = rustls::Error::AlertReceived(AlertDescription::ProtocolVersion);
        assert_eq!(Refusal::find(&alert), None);
    }
}
