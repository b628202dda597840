//! The certificate that a backend presents to its devices, replaceable while it listens.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::authority::IssuedServerCertificate;
use crate::certificate::{Facts, chain_from_pem};
use crate::error::{MtlsError, PeerError};
use crate::provider::provider;
use crate::secret::Secret;

/// A server certificate that can be renewed live. Connections that begin after a
/// [`replace`](Self::replace) get the new one; existing connections continue.
pub struct ServerCertificate(ArcSwap<Loaded>);

struct Loaded {
    certified: Arc<CertifiedKey>,
    not_after_ms: i64,
}

impl ServerCertificate {
    /// Loads a certificate just issued.
    ///
    /// # Errors
    /// As [`from_pem`](Self::from_pem).
    pub fn new(issued: &IssuedServerCertificate) -> Result<Self, MtlsError> {
        Self::from_pem(&issued.chain_pem, &issued.key_pem)
    }

    /// Loads a chain (the server's certificate, then its authority's) and the private key, PEM.
    ///
    /// # Errors
    /// [`MtlsError`] when either cannot be read, they do not belong together, the first is not a
    /// server's certificate or no authority follows it.
    pub fn from_pem(chain_pem: &str, key_pem: &Secret<String>) -> Result<Self, MtlsError> {
        Ok(Self(ArcSwap::from_pointee(load(chain_pem, key_pem)?)))
    }

    /// Presents this certificate from the next connection on.
    ///
    /// # Errors
    /// As [`from_pem`](Self::from_pem); the old certificate then stays.
    pub fn replace(&self, chain_pem: &str, key_pem: &Secret<String>) -> Result<(), MtlsError> {
        self.0.store(Arc::new(load(chain_pem, key_pem)?));
        Ok(())
    }

    /// Returns the end of the current certificate's validity, Unix milliseconds.
    pub fn not_after_ms(&self) -> i64 {
        self.0.load().not_after_ms
    }
}

fn load(chain_pem: &str, key_pem: &Secret<String>) -> Result<Loaded, MtlsError> {
    let chain = chain_from_pem(chain_pem)?;
    let [server, authorities @ ..] = chain.as_slice() else {
        return Err(MtlsError::NotAnAuthority);
    };
    let facts = Facts::read(server)?;
    if facts.is_ca || !facts.for_servers {
        return Err(PeerError::WrongPurpose.into());
    }
    if authorities.is_empty() {
        return Err(MtlsError::CertificateCount {
            expected: "the server's certificate and its authority's",
            found: 1,
        });
    }
    for authority in authorities {
        if !Facts::read(authority)?.is_leaf_authority {
            return Err(MtlsError::NotAnAuthority);
        }
    }
    let key = PrivateKeyDer::from_pem_slice(key_pem.expose().as_bytes())
        .map_err(|_| MtlsError::UnreadableKey)?;
    let key =
        provider().key_provider.load_private_key(key).map_err(|_| MtlsError::UnreadableKey)?;
    let certified = CertifiedKey::new(chain, key);
    certified.keys_match().map_err(|_| MtlsError::KeyMismatch)?;
    Ok(Loaded { certified: Arc::new(certified), not_after_ms: facts.not_after_ms })
}

impl fmt::Debug for ServerCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCertificate")
            .field("not_after_ms", &self.not_after_ms())
            .finish_non_exhaustive()
    }
}

impl ResolvesServerCert for ServerCertificate {
    fn resolve(&self, _client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.load().certified))
    }
}
