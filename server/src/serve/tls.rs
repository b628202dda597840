//! TLS for people and programs. The listener of devices has its own, with mutual authentication.

use std::sync::Arc;

use anyhow::Context as _;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::people_certificate::PeopleCertificate;
use crate::config::{Config, PeopleConfig};

/// Checks that the files which a configuration names can be used.
///
/// # Errors
/// The certificate or the key of `[people]` cannot be read, or they do not belong together.
pub fn check_files(config: &Config) -> anyhow::Result<()> {
    people_tls(&config.people, None).map(drop)
}

pub(super) fn people_tls(
    people: &PeopleConfig,
    own: Option<Arc<PeopleCertificate>>,
) -> anyhow::Result<Option<Arc<rustls::ServerConfig>>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth();
    if let Some(own) = own {
        return Ok(Some(with_protocols(builder.with_cert_resolver(own))));
    }
    let (Some(certificate), Some(key)) = (&people.certificate, &people.key) else {
        return Ok(None);
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("[people] certificate: {}", certificate.display()))?;
    let key = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("[people] key: {}", key.display()))?;
    let config = builder
        .with_single_cert(chain, key)
        .context("[people] certificate and key do not belong together")?;
    Ok(Some(with_protocols(config)))
}

fn with_protocols(mut config: rustls::ServerConfig) -> Arc<rustls::ServerConfig> {
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}
