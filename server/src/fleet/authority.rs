//! The certificate authorities that sign the certificates of devices and of this backend. `orion-server ca`
//! changes them in the data folder; a running backend reloads them.

mod files;
mod recent_certificates;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use orion_mtls::{
    Authorities, CertificateAuthority, DeviceTrust, Fingerprint, MtlsError, ServerCertificate,
};
use tokio::sync::watch;

pub use files::{AuthorityError, change, hold, read};
pub use recent_certificates::RecentCertificates;

/// Lifetime of the backend's own certificate. It is issued at each start, after each change of authority, and
/// well before it expires.
const CERTIFICATE_TTL: Duration = Duration::from_secs(30 * 24 * 3600);
/// How far an authority's certificate is backdated at most, in milliseconds.
const BACKDATED: i64 = 5 * 60 * 1000;

/// The active authorities and the backend's own certificate.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
    set: ArcSwap<Authorities>,
    trust: Arc<DeviceTrust>,
    certificate: Arc<ServerCertificate>,
    changed: watch::Sender<()>,
    /// The last reload's error, so that it is logged once.
    failure: Mutex<Option<String>>,
    /// Whether a long overlap of two authorities was logged.
    overlap: Mutex<Overlap>,
    given: RecentCertificates,
}

/// Two active authorities, while one replaces the other.
#[derive(Debug, Default)]
struct Overlap {
    /// The name of the authority that is being replaced.
    of: Option<Fingerprint>,
    is_logged: bool,
}

impl Authority {
    /// Loads the authorities in the data folder, and creates the first where there is none.
    ///
    /// # Errors
    /// The authorities cannot be read, created or used.
    pub fn open(folder: &Path, now: i64) -> Result<Self, AuthorityError> {
        let set = match read(folder) {
            Ok(set) => set,
            Err(AuthorityError::Missing(_)) => {
                let set = Authorities::one(CertificateAuthority::create(now)?);
                files::create(folder, &set)?;
                set
            }
            Err(error) => return Err(error),
        };
        Self::of(folder, set, now)
    }

    /// Loads the authorities of a backend whose database has devices: a new authority in their place would
    /// cut off every device.
    ///
    /// # Errors
    /// The authorities are missing, or cannot be read or used.
    pub fn take_up(folder: &Path, now: i64) -> Result<Self, AuthorityError> {
        match read(folder) {
            Ok(set) => Self::of(folder, set, now),
            Err(AuthorityError::Missing(folder)) => Err(AuthorityError::Gone(folder)),
            Err(error) => Err(error),
        }
    }

    fn of(folder: &Path, set: Authorities, now: i64) -> Result<Self, AuthorityError> {
        let issued = set.shown(now).issue_server(&[], CERTIFICATE_TTL, now)?;
        Ok(Self {
            folder: folder.to_owned(),
            trust: Arc::new(DeviceTrust::new(&certificates(&set))?),
            certificate: Arc::new(ServerCertificate::new(&issued)?),
            set: ArcSwap::from_pointee(set),
            changed: watch::Sender::new(()),
            failure: Mutex::default(),
            overlap: Mutex::default(),
            given: RecentCertificates::default(),
        })
    }

    /// Returns the active authorities.
    #[must_use]
    pub fn set(&self) -> Arc<Authorities> {
        self.set.load_full()
    }

    /// Returns the authorities' certificates in PEM, the signing one first, as devices must trust them.
    #[must_use]
    pub fn certificates(&self) -> Vec<String> {
        certificates(&self.set())
    }

    /// Returns the fingerprints of their certificates in hexadecimal, the signing one first.
    #[must_use]
    pub fn fingerprints(&self) -> Vec<String> {
        fingerprints(&self.set())
    }

    /// Returns the trust anchors that the listener checks devices against.
    #[must_use]
    pub fn trust(&self) -> Arc<DeviceTrust> {
        Arc::clone(&self.trust)
    }

    /// Returns the backend's own certificate.
    #[must_use]
    pub fn certificate(&self) -> Arc<ServerCertificate> {
        Arc::clone(&self.certificate)
    }

    /// Reloads the authorities from the data folder, and renews the backend's own certificate in time.
    /// Returns whether the authorities changed. An error is logged once, and the former authorities stay
    /// active.
    pub fn keep(&self, now: i64) -> bool {
        let kept = self.import(now).and_then(|changed| {
            let left = self.certificate.not_after_ms().saturating_sub(now);
            if left < i64::try_from(CERTIFICATE_TTL.as_millis() / 3).unwrap_or(0) {
                self.show(&self.set(), now)?;
            }
            Ok(changed)
        });
        let failure = kept.as_ref().err().map(ToString::to_string);
        let mut reported = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = failure.as_ref().filter(|_| *reported != failure) {
            tracing::error!(%error, "the authorities could not be taken in; those before go on counting");
        }
        *reported = failure;
        kept.unwrap_or(false)
    }

    fn import(&self, now: i64) -> Result<bool, AuthorityError> {
        if files::certificates(&self.folder)? == self.set().certs_pem() {
            return Ok(false);
        }
        let set = read(&self.folder)?;
        if fingerprints(&set) == self.fingerprints() {
            return Ok(false);
        }
        self.show(&set, now)?;
        self.trust.replace(&certificates(&set))?;
        self.set.store(Arc::new(set));
        self.changed.send_replace(());
        Ok(true)
    }

    /// Returns whether two authorities have been active for longer than `lifetime` milliseconds; `true` only
    /// once for each pair.
    pub fn takes_long(&self, lifetime: i64, now: i64) -> bool {
        let set = self.set();
        let mut overlap = self.overlap.lock().unwrap_or_else(PoisonError::into_inner);
        let of = set.retiring().map(CertificateAuthority::name);
        if overlap.of != of {
            *overlap = Overlap { of, is_logged: false };
        }
        let since = set.signer().not_before_ms().saturating_add(BACKDATED);
        let is_long = of.is_some() && since.saturating_add(lifetime) < now;
        is_long && !std::mem::replace(&mut overlap.is_logged, true)
    }

    fn show(&self, set: &Authorities, now: i64) -> Result<(), MtlsError> {
        let issued = set.shown(now).issue_server(&[], CERTIFICATE_TTL, now)?;
        self.certificate.replace(&issued.chain_pem, &issued.key_pem)
    }

    /// Returns the certificates that devices received a moment ago.
    #[must_use]
    pub const fn given(&self) -> &RecentCertificates {
        &self.given
    }

    /// Returns a receiver that is notified when the authorities change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Returns whether a device must renew: its certificate is not by the signing authority, or it reports
    /// another set of trusted authorities. A device that reports none passes the second check.
    #[must_use]
    pub fn is_behind(&self, issuer: Fingerprint, trusts: &[Fingerprint]) -> bool {
        let set = self.set();
        let mut counts: Vec<_> = set.iter().map(CertificateAuthority::fingerprint).collect();
        let mut reported = trusts.to_vec();
        counts.sort_unstable();
        reported.sort_unstable();
        issuer != set.signer().name() || (!reported.is_empty() && reported != counts)
    }

    /// Waits until the authority of this name is no longer active.
    pub async fn disconnected(&self, name: Fingerprint) {
        let mut changes = self.changed.subscribe();
        while self.set.load().holds(&name) {
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}

fn certificates(set: &Authorities) -> Vec<String> {
    set.iter().map(|authority| authority.cert_pem().to_owned()).collect()
}

fn fingerprints(set: &Authorities) -> Vec<String> {
    set.iter().map(|authority| authority.fingerprint().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::now_ms;

    #[tokio::test]
    async fn a_change_in_the_folder_is_taken_in_while_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let now = now_ms();
        let authority = Authority::open(folder.path(), now).unwrap();
        let old = authority.fingerprints();
        let old_name = authority.set().signer().name();
        assert!(!authority.keep(now));

        change(folder.path(), |set| {
            let new = CertificateAuthority::create(now)?;
            Ok((set.rotated(new).ok_or(AuthorityError::TakingOver)?, ()))
        })
        .unwrap();
        assert!(authority.keep(now));
        assert!(!authority.keep(now), "once");
        let both = authority.fingerprints();
        assert_eq!(both.last(), old.last());
        let waiting = authority.disconnected(old_name);
        tokio::pin!(waiting);
        assert!(futures_util::poll!(&mut waiting).is_pending());

        change(folder.path(), |set| set.retired().ok_or(AuthorityError::OnlyOne)).unwrap();
        assert!(authority.keep(now));
        waiting.await;
        assert_eq!(authority.fingerprints(), both[..1]);
        // A restart loads the same authorities.
        let again = Authority::open(folder.path(), now).unwrap();
        assert_eq!(again.fingerprints(), both[..1]);
    }

    #[test]
    fn what_cannot_be_taken_in_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let now = now_ms();
        let authority = Authority::open(folder.path(), now).unwrap();
        let before = authority.fingerprints();
        for text in ["", "garbage"] {
            std::fs::write(folder.path().join("ca.pem"), text).unwrap();
            assert!(!authority.keep(now));
        }
        std::fs::remove_file(folder.path().join("ca.pem")).unwrap();
        assert!(!authority.keep(now));
        assert_eq!(authority.fingerprints(), before);
        assert!(Authority::open(folder.path(), now).is_err(), "and nothing is made in its place");
    }

    #[test]
    fn where_the_record_knows_authorities_that_are_gone_no_other_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let now = now_ms();
        let gone = Authority::take_up(folder.path(), now).unwrap_err();
        assert!(gone.to_string().contains("restore both from a backup"), "{gone}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let before = Authority::open(folder.path(), now).unwrap().fingerprints();
        assert_eq!(Authority::take_up(folder.path(), now).unwrap().fingerprints(), before);
    }
}
