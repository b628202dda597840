//! What can go wrong when certificates are made or TLS configurations are built.

use rustls::server::VerifierBuilderError;

use crate::csr::CsrError;
use crate::peer::PeerError;

/// Why a certificate, a key or a TLS configuration could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MtlsError {
    /// The certificate signing request was refused; the fault is the requester's.
    #[error(transparent)]
    Csr(#[from] CsrError),
    /// A certificate is not what its place asks for.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// A private key could not be read.
    #[error(
        "the private key can't be read: it must be one unencrypted PKCS#8 PEM key of type ECDSA P-256, ECDSA P-384 or Ed25519"
    )]
    UnreadableKey,
    /// A PEM text holds no certificates, too many of them, or something else than certificates.
    #[error(
        "expected {expected} in PEM form and found {found} readable; check that the file is whole and the right one"
    )]
    CertificateCount {
        /// What the place asks for, in words.
        expected: &'static str,
        /// How many certificates could be read.
        found: usize,
    },
    /// A certificate that should belong to an authority may not sign others.
    #[error(
        "the certificate doesn't belong to an Orion certificate authority (it may not sign certificates, or it allows others to)"
    )]
    NotAnAuthority,
    /// A certificate and a private key don't belong together.
    #[error(
        "the certificate was made for another key than the one given; use the pair that was made together"
    )]
    KeyMismatch,
    /// A device id is not a UUID in its canonical form.
    #[error("a device id must be a UUID in lower case with hyphens")]
    DeviceId,
    /// A name for a server certificate is neither a DNS name nor an IP address.
    #[error(
        "{0:?} is neither a DNS name nor an IP address; wildcards, ports and schemes don't belong in a server certificate"
    )]
    ServerName(String),
    /// More names were asked for than one certificate may carry.
    #[error("a server certificate may carry {limit} names, and {count} were asked for")]
    TooManyServerNames {
        /// How many names were given.
        count: usize,
        /// The most that are allowed.
        limit: usize,
    },
    /// The requested validity is zero or too long.
    #[error("a certificate may be valid for five seconds to 397 days")]
    Validity,
    /// The authority's own certificate doesn't cover the present.
    #[error(
        "the certificate authority is not valid at this time; check this machine's clock, and make a new authority if the old one has expired"
    )]
    AuthorityNotValid,
    /// A time lies outside what a certificate can express.
    #[error("the time is outside what a certificate can express; check this machine's clock")]
    Time,
    /// The operating system gave no random bytes.
    #[error("the operating system gave no random bytes; nothing was made")]
    Random,
    /// Making the certificate or key failed inside the certificate library.
    #[error("the certificate or key could not be made: {0}")]
    Making(#[from] rcgen::Error),
    /// rustls refused the configuration.
    #[error("the TLS configuration was refused: {0}")]
    Tls(#[from] rustls::Error),
    /// rustls refused the set of authorities.
    #[error("the certificate authorities were refused: {0}")]
    Authorities(#[from] VerifierBuilderError),
}
