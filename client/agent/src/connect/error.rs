//! Errors of the connection, with messages that say what to do.

use std::io;

use orion_mtls::{MtlsError, Refusal};
use orion_wire::CERTIFICATE_EXPIRED_METADATA;
use tonic::{Code, Status};

use crate::state::StateError;

/// Why a connection could not be made, or ended.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nothing answers at the address.
    #[error("{address} can't be reached: {}; {}", why(error), step(error))]
    Unreachable {
        /// The address that was dialled, `host:port`.
        address: String,
        /// The operating system's error.
        error: io::Error,
    },
    /// The backend took too long.
    #[error(
        "{address} did not answer in time; check the address, and the network and firewalls on the way to it"
    )]
    TimedOut {
        /// The address that was dialled, `host:port`.
        address: String,
    },
    /// One of the two certificates was not accepted.
    #[error("{0}")]
    Certificate(#[from] Refusal),
    /// The backend answered that this device's certificate has expired. It may be renewed.
    #[error("this device's certificate has expired")]
    Expired,
    /// The backend answered that this device may not connect.
    #[error("the backend refuses this device: {0}")]
    Denied(String),
    /// The backend ended the connection, or it broke.
    #[error("the connection ended: {0}")]
    Ended(String),
    /// The peer does not follow the protocol.
    #[error("what answered is not a backend that this agent can work with: {0}")]
    Protocol(String),
    /// The backend is stopping, and said so.
    #[error("the backend is stopping")]
    Drained,
    /// The device's own state cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The device's own certificate cannot be used.
    #[error(transparent)]
    Mtls(#[from] MtlsError),
}

/// Returns why an address cannot be reached.
fn why(error: &io::Error) -> String {
    let said = error.to_string();
    if speaks_no_tls(&said) { "what answers there does not speak TLS".to_owned() } else { said }
}

/// Returns whether an error says that the other side does not speak TLS.
fn speaks_no_tls(error: &str) -> bool {
    error.contains("InvalidContentType")
}

/// Returns what to do about an address that cannot be reached.
fn step(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::ConnectionRefused {
        return "on the backend's machine, see that `orion-server run` runs, and that [devices] in orion-server.toml names this port; after a change, enrol with the new address";
    }
    if speaks_no_tls(&error.to_string()) {
        return "that is not the port for devices: an admin corrects [devices] addresses in orion-server.toml and makes a new token";
    }
    "check the address, and the network and firewalls on the way to it"
}

impl ConnectError {
    /// Converts a gRPC status. `seen` is the TLS refusal on the connection, which gRPC does not repeat.
    #[must_use]
    pub fn from_status(status: &Status, seen: Option<Refusal>) -> Self {
        if let Some(refusal) = seen.or_else(|| Refusal::find(status)) {
            return Self::Certificate(refusal);
        }
        if status.metadata().contains_key(CERTIFICATE_EXPIRED_METADATA) {
            return Self::Expired;
        }
        let text = printable(status.message());
        match status.code() {
            Code::Unauthenticated | Code::PermissionDenied => Self::Denied(text),
            Code::Ok
            | Code::Cancelled
            | Code::Unknown
            | Code::InvalidArgument
            | Code::DeadlineExceeded
            | Code::NotFound
            | Code::AlreadyExists
            | Code::ResourceExhausted
            | Code::FailedPrecondition
            | Code::Aborted
            | Code::OutOfRange
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss => Self::Ended(text),
        }
    }

    /// Returns whether an early retry is useless because only a person can remove the cause.
    #[must_use]
    pub const fn is_lasting(&self) -> bool {
        match self {
            Self::Certificate(refusal) => match refusal {
                Refusal::DeviceRevoked | Refusal::DeviceNotInDate | Refusal::DeviceUntrusted => {
                    true
                }
                // Another address, or the same one later, may be the right backend.
                Refusal::BackendNotPinned
                | Refusal::BackendWithoutAuthority
                | Refusal::BackendNotInDate
                | Refusal::BackendUntrusted => false,
            },
            Self::Denied(_) | Self::Mtls(_) => true,
            Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::Expired
            | Self::Ended(_)
            | Self::Protocol(_)
            | Self::Drained
            | Self::State(_) => false,
        }
    }
}

/// Returns text of the peer without control characters, and at most 300 characters of it.
#[must_use]
pub fn printable(text: &str) -> String {
    orion_domain::strip_hidden(text, 300)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_person_can_change_is_told_from_what_time_heals() {
        let error = |status: Status| ConnectError::from_status(&status, None);
        assert!(error(Status::permission_denied("quarantined")).is_lasting());
        assert!(error(Status::unauthenticated("")).is_lasting());
        assert!(!error(Status::unavailable("")).is_lasting());
        let revoked =
            ConnectError::from_status(&Status::unknown("x"), Some(Refusal::DeviceRevoked));
        assert!(revoked.is_lasting());
        assert!(revoked.to_string().contains("revoked"), "{revoked}");
        assert!(!ConnectError::from(Refusal::BackendUntrusted).is_lasting());
    }

    #[test]
    fn what_the_other_side_says_cannot_carry_terminal_codes() {
        assert_eq!(printable("a\x1b[2Jb\n"), "a[2Jb");
        assert_eq!(printable(&"x".repeat(1_000)).len(), 300);
    }
}
