//! TLS for people and programs. The listener of devices has its own, with mutual authentication.

use std::sync::Arc;

use anyhow::Context as _;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::{Config, PeopleConfig};

/// Checks that the files which a configuration names can be used.
///
/// # Errors
/// The certificate or the key of `[people]` cannot be read, or they do not belong together.
pub fn check_files(config: &Config) -> anyhow::Result<()> {
    people_tls(&config.people).map(drop)
}

pub(super) fn people_tls(
    people: &PeopleConfig,
) -> anyhow::Result<Option<Arc<rustls::ServerConfig>>> {
    let (Some(certificate), Some(key)) = (&people.certificate, &people.key) else {
        return Ok(None);
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("[people] certificate: {}", certificate.display()))?;
    let key = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("[people] key: {}", key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("[people] certificate and key do not belong together")?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Some(Arc::new(config)))
}
