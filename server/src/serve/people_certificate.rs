//! Orion's own certificate for people: signed by an authority of its own, which no device trusts and which
//! signs nothing for devices, and renewed while the backend listens.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use orion_mtls::{CertificateAuthority, ServerCertificate, secret_file};
use rustls::pki_types::DnsName;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::addresses::own_hostname;
use crate::clock::now_ms;
use crate::config::PeopleConfig;

/// The key of the authority, in the data folder.
const KEY: &str = "people-ca.key";
/// The certificate of the authority, which people pass to `orion login --ca`.
pub(super) const CERTIFICATE: &str = "people-ca.pem";
/// How long after a failed renewal the next one is tried, in milliseconds.
const RETRY_MS: i64 = 60_000;

/// The certificate, which renews itself at two thirds of its life.
#[derive(Debug)]
pub(super) struct PeopleCertificate {
    authority: CertificateAuthority,
    names: Vec<String>,
    validity: Duration,
    current: ServerCertificate,
    /// Unix milliseconds.
    renew_at: AtomicI64,
    /// The authority's certificate.
    pub(super) authority_file: PathBuf,
}

impl PeopleCertificate {
    /// Opens the authority of the data folder, or makes one, and issues a certificate for the names of the
    /// configuration and the address `listen`.
    ///
    /// # Errors
    /// The authority cannot be read or written, or a name is invalid.
    pub(super) fn open(
        data_dir: &Path,
        config: &PeopleConfig,
        listen: SocketAddr,
    ) -> anyhow::Result<Arc<Self>> {
        let now = now_ms();
        let authority = authority(data_dir, now)?;
        let names = names(config, listen);
        let validity = Duration::from_secs(config.certificate_seconds.into());
        let issued = authority.issue_server(&names, validity, now);
        let issued = issued.context("[people] names: a certificate cannot be issued")?;
        let authority_file = data_dir.join(CERTIFICATE);
        let authority_file = std::path::absolute(&authority_file).unwrap_or(authority_file);
        tracing::info!(
            ca = %authority_file.display(), fingerprint = %authority.fingerprint(), names = names.join(", "),
            "people's TLS uses Orion's own certificate; they sign in with --ca and this file"
        );
        Ok(Arc::new(Self {
            current: ServerCertificate::new(&issued)?,
            renew_at: AtomicI64::new(due(now, issued.not_after_ms)),
            authority,
            names,
            validity,
            authority_file,
        }))
    }

    /// Renews the certificate if two thirds of its life are over. The old one stays if that fails.
    fn renew_if_due(&self, now: i64) {
        let due_at = self.renew_at.load(Ordering::Acquire);
        let retry = now.saturating_add(RETRY_MS);
        // One connection renews it, and the others go on with the current one.
        if now < due_at
            || self
                .renew_at
                .compare_exchange(due_at, retry, Ordering::AcqRel, Ordering::Acquire)
                .is_err()
        {
            return;
        }
        let renewed = self.authority.issue_server(&self.names, self.validity, now).and_then(|it| {
            self.current.replace(&it.chain_pem, &it.key_pem)?;
            Ok(it.not_after_ms)
        });
        match renewed {
            Ok(not_after_ms) => {
                self.renew_at.store(due(now, not_after_ms), Ordering::Release);
                tracing::info!(not_after_ms, "the certificate for people was renewed");
            }
            Err(error) => tracing::error!(%error, "the certificate for people was not renewed"),
        }
    }
}

impl ResolvesServerCert for PeopleCertificate {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.renew_if_due(now_ms());
        self.current.resolve(hello)
    }
}

/// Returns when two thirds of a life that begins now are over.
const fn due(now: i64, not_after_ms: i64) -> i64 {
    now + (not_after_ms - now) / 3 * 2
}

fn authority(data_dir: &Path, now: i64) -> anyhow::Result<CertificateAuthority> {
    let (key, certificate) = (data_dir.join(KEY), data_dir.join(CERTIFICATE));
    match (key.exists(), certificate.exists()) {
        (true, true) => {
            let secret = secret_file::read_text(&key).context(KEY)?;
            let certificate = std::fs::read_to_string(&certificate).context(CERTIFICATE)?;
            CertificateAuthority::load(secret.expose(), &certificate)
                .with_context(|| format!("{KEY} and {CERTIFICATE} cannot be used"))
        }
        (false, false) => {
            let authority = CertificateAuthority::create(now)?;
            // The key is last: without it, both are made again at the next start.
            std::fs::write(&certificate, authority.cert_pem()).context(CERTIFICATE)?;
            secret_file::write(&key, authority.key_pem().expose().as_bytes()).context(KEY)?;
            Ok(authority)
        }
        (false, true) => {
            tracing::warn!(
                "{KEY} is missing in {}, so a new authority is made; people sign in again with --ca and the new {CERTIFICATE}",
                data_dir.display()
            );
            std::fs::remove_file(&certificate).context(CERTIFICATE)?;
            self::authority(data_dir, now)
        }
        (true, false) => bail!(
            "{CERTIFICATE} is missing in {}; restore it from a backup, or remove {KEY} too, and give people the new file",
            data_dir.display()
        ),
    }
}

/// Returns the names and addresses of the certificate: those of the configuration, and those by which this
/// machine reaches the address.
fn names(config: &PeopleConfig, listen: SocketAddr) -> Vec<String> {
    let mut names = config.names.clone();
    let ip = listen.ip();
    if ip.is_unspecified() {
        let host = own_hostname().filter(|name| DnsName::try_from(name.as_str()).is_ok());
        names.extend(host);
        names.push(Ipv6Addr::LOCALHOST.to_string());
    } else {
        names.push(ip.to_string());
    }
    if ip.is_unspecified() || ip.is_loopback() {
        names.extend(["localhost".to_owned(), IpAddr::V4(Ipv4Addr::LOCALHOST).to_string()]);
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(folder: &Path) -> Arc<PeopleCertificate> {
        let config = PeopleConfig {
            names: vec!["orion.example".to_owned()],
            certificate_seconds: 300,
            ..PeopleConfig::default()
        };
        PeopleCertificate::open(folder, &config, "127.0.0.1:7080".parse().unwrap()).unwrap()
    }

    #[test]
    fn the_certificate_is_renewed_at_two_thirds_and_not_before() {
        orion_mtls::install_crypto_provider();
        let folder = tempfile::tempdir().unwrap();
        let own = open(folder.path());
        let first = own.current.not_after_ms();
        own.renew_if_due(first - 150_000);
        assert_eq!(own.current.not_after_ms(), first);
        own.renew_if_due(first - 50_000);
        assert!(own.current.not_after_ms() > first);
        // The clock of the failure does not move the end of what is held.
        own.renew_at.store(0, Ordering::Release);
        let held = own.current.not_after_ms();
        own.renew_if_due(own.authority.not_after_ms() + 1);
        assert_eq!(own.current.not_after_ms(), held);
    }

    #[test]
    fn the_authority_stays_over_restarts_and_half_of_it_is_not_replaced() {
        orion_mtls::install_crypto_provider();
        let folder = tempfile::tempdir().unwrap();
        let first = open(folder.path());
        assert_eq!(open(folder.path()).authority.fingerprint(), first.authority.fingerprint());
        assert_eq!(first.names, ["orion.example", "127.0.0.1", "localhost"]);
        std::fs::remove_file(folder.path().join(CERTIFICATE)).unwrap();
        let config = PeopleConfig::default();
        let listen = "127.0.0.1:7080".parse().unwrap();
        let error = PeopleCertificate::open(folder.path(), &config, listen).unwrap_err();
        assert!(error.to_string().contains("people-ca.pem is missing"), "{error:#}");
    }
}
