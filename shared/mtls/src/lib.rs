//! The identities of a backend and its devices: a small certificate authority, device and server
//! certificates, and the rustls configurations that verify them.
//!
//! Reading order: [`authority`] issues certificates and [`Authorities`] holds the active authorities;
//! [`identity`] is the device's key. [`server_config`] and [`client_config`] configure both ends of a
//! connection, and [`peer`] identifies the other end. Nothing here knows about RPCs, storage or policy.

mod authorities;
pub mod authority;
mod backend_verifier;
mod certificate;
pub mod client_config;
pub mod comparison;
pub mod csr;
mod device_verifier;
pub mod error;
pub mod fingerprint;
pub mod identity;
pub mod peer;
mod provider;
pub mod refusal;
pub mod secret;
pub mod secret_file;
pub mod server_certificate;
pub mod server_config;
mod words;

#[cfg(test)]
mod tests;

pub use authorities::Authorities;
pub use authority::{CertificateAuthority, IssuedCertificate, IssuedServerCertificate};
pub use client_config::{FirstSeen, first_seen, mutual, pinned};
pub use comparison::{Comparison, typed_words};
pub use csr::{CsrError, VerifiedCsr};
pub use device_verifier::{DeviceTrust, RevocationCheck};
pub use error::{MtlsError, PeerError};
pub use fingerprint::{Fingerprint, FingerprintError, PinSet};
pub use identity::DeviceKey;
pub use peer::DeviceIdentity;
pub use provider::install_crypto_provider;
pub use refusal::Refusal;
pub use secret::Secret;
pub use server_certificate::ServerCertificate;
pub use server_config::{device_listener, device_listener_trusting};

/// The DNS name in every certificate that a backend presents to its devices.
///
/// A device dials addresses that change (a laptop's, a container's, a balancer's), so it verifies this
/// name whatever it dials. The signature of its own authority proves the backend's identity; the address
/// proves nothing.
pub const SERVER_NAME: &str = "orion-server";

/// The application protocol that both sides offer: HTTP/2, which gRPC runs on.
const ALPN_HTTP2: &[u8] = b"h2";
