//! Errors of reading and issuing certificates, and of building TLS configurations.

use rustls::server::VerifierBuilderError;

use crate::csr::CsrError;

/// Why a certificate, a key or a TLS configuration could not be created.
#[derive(Debug, thiserror::Error)]
pub enum MtlsError {
    /// The certificate signing request was rejected; the fault is the requester's.
    #[error(transparent)]
    Csr(#[from] CsrError),
    /// A certificate is of the wrong kind for its use.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// A private key could not be read.
    #[error(
        "the private key can't be read: it must be one unencrypted PKCS#8 PEM key of type ECDSA P-256, ECDSA P-384 or Ed25519"
    )]
    UnreadableKey,
    /// A PEM text holds no certificates, too many, or something other than certificates.
    #[error(
        "expected {expected} in PEM form and found {found} readable; check that the file is whole and the right one"
    )]
    CertificateCount {
        /// What was expected, in words.
        expected: &'static str,
        /// How many certificates could be read.
        found: usize,
    },
    /// A certificate presented as an authority's may not sign others.
    #[error(
        "the certificate doesn't belong to an Orion certificate authority (it may not sign certificates, or it allows others to)"
    )]
    NotAnAuthority,
    /// A certificate and a private key do not belong together.
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
    /// More names were requested than one certificate may have.
    #[error("a server certificate may carry {limit} names, and {count} were asked for")]
    TooManyServerNames {
        /// The number of names.
        count: usize,
        /// The maximum number of names.
        limit: usize,
    },
    /// The requested validity is zero or too long.
    #[error("a certificate may be valid for five seconds to 397 days")]
    Validity,
    /// The authority's own certificate is not valid at the current time.
    #[error(
        "the certificate authority is not valid at this time; check this machine's clock, and make a new authority if the old one has expired"
    )]
    AuthorityNotValid,
    /// A time is outside the range that a certificate can express.
    #[error("the time is outside what a certificate can express; check this machine's clock")]
    Time,
    /// The operating system returned no random bytes.
    #[error("the operating system gave no random bytes; nothing was made")]
    Random,
    /// The certificate library failed to create the certificate or key.
    #[error("the certificate or key could not be made: {0}")]
    Making(#[from] rcgen::Error),
    /// rustls rejected the configuration.
    #[error("the TLS configuration was refused: {0}")]
    Tls(#[from] rustls::Error),
    /// rustls rejected the set of authorities.
    #[error("the certificate authorities were refused: {0}")]
    Authorities(#[from] VerifierBuilderError),
}

/// Why a certificate is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    /// Not a readable X.509 certificate.
    #[error("the certificate can't be read; enrol the device again to get a new one")]
    Unreadable,
    /// The certificate says CA:true.
    #[error("the certificate belongs to an authority, and an authority can't be a party")]
    IsAuthority,
    /// Issued for the other side of a connection, for another purpose, or without a purpose.
    #[error("the certificate was not issued for this side of a connection")]
    WrongPurpose,
    /// The key's type is not accepted for devices.
    #[error("the certificate carries a key of a type that isn't accepted")]
    UnsupportedKey,
    /// Not exactly one name, or not a device's name.
    #[error("the certificate doesn't name exactly one Orion device")]
    NotADevice,
    /// The server's chain holds no authority that the invitation pins.
    #[error(
        "the backend's certificate authority is not the one in the invitation; check the address, and ask for a new invitation if the authority was replaced"
    )]
    NotPinned,
    /// The server's chain is not its own certificate and one authority.
    #[error(
        "what answered presents no Orion certificate authority; check the address and the port, which is the backend's port for devices"
    )]
    NotOneAuthority,
}
