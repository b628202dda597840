//! TLS for people and programs. The listener of devices has its own, with mutual authentication.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::people_certificate::PeopleCertificate;
use crate::config::{Config, PeopleConfig};
use crate::model::Model;

/// Checks that the files which a configuration names can be used.
///
/// # Errors
/// The certificate or the key of `[people]` cannot be read, or they do not belong together. A model's section lacks
/// something, or its key cannot be read.
pub fn check_files(config: &Config) -> anyhow::Result<()> {
    people_tls(&config.people, None)?;
    for model in &config.models {
        Model::new(model)?;
    }
    Ok(())
}

/// Returns the error for a file of `[people]` that cannot be used.
fn unusable(setting: &str, path: &Path, error: &pem::Error) -> anyhow::Error {
    let path = path.display();
    if let pem::Error::Io(error) = error {
        return anyhow!(
            "[people] {setting}: {path} cannot be read: {error}; name a file that this account may read"
        );
    }
    if matches!(error, pem::Error::NoItemsFound) {
        return anyhow!(
            "[people] {setting}: there is no {setting} in {path}; name a PEM file, with -----BEGIN at its start"
        );
    }
    anyhow!("[people] {setting}: {path} is not PEM ({error}); name a PEM file")
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
        .map_err(|error| unusable("certificate", certificate, &error))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable("key", key, &error))?;
    if chain.is_empty() {
        return Err(unusable("certificate", certificate, &pem::Error::NoItemsFound));
    }
    let config = builder
        .with_single_cert(chain, key)
        .context("[people] certificate and key do not belong together; name the key that the certificate was made with")?;
    Ok(Some(with_protocols(config)))
}

fn with_protocols(mut config: rustls::ServerConfig) -> Arc<rustls::ServerConfig> {
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}
