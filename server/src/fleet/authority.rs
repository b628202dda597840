//! The authorities that vouch for devices and for this backend, as they are at the moment. They lie in
//! the data folder, where `orion-server ca` changes them; a backend that runs takes a change in.

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

/// How long the certificate that the backend shows to devices is good; made anew at each start, with
/// each change of authority, and long before it ends.
const CERTIFICATE: Duration = Duration::from_secs(30 * 24 * 3600);
/// An authority's certificate begins at most this much before it is made, in milliseconds.
const BACKDATED: i64 = 5 * 60 * 1000;

/// See the module.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
    set: ArcSwap<Authorities>,
    trust: Arc<DeviceTrust>,
    certificate: Arc<ServerCertificate>,
    changed: watch::Sender<()>,
    /// What kept the last change from being taken in, so that it is told once.
    failure: Mutex<Option<String>>,
    /// Whether it was told that one of them takes long to take over.
    overlap: Mutex<Overlap>,
    given: RecentCertificates,
}

/// Two authorities that count, while one takes over from the other.
#[derive(Debug, Default)]
struct Overlap {
    /// The name of the one that is to go.
    of: Option<Fingerprint>,
    is_told: bool,
}

impl Authority {
    /// Takes up the authorities in the data folder, and makes the first where there is none.
    ///
    /// # Errors
    /// They cannot be read, made or used.
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

    /// Takes up the authorities of a backend whose record knows of some: another one in their place would
    /// cut off every device.
    ///
    /// # Errors
    /// They are gone, or cannot be read or used.
    pub fn take_up(folder: &Path, now: i64) -> Result<Self, AuthorityError> {
        match read(folder) {
            Ok(set) => Self::of(folder, set, now),
            Err(AuthorityError::Missing(folder)) => Err(AuthorityError::Gone(folder)),
            Err(error) => Err(error),
        }
    }

    fn of(folder: &Path, set: Authorities, now: i64) -> Result<Self, AuthorityError> {
        let issued = set.shown(now).issue_server(&[], CERTIFICATE, now)?;
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

    /// Those that count at the moment.
    #[must_use]
    pub fn set(&self) -> Arc<Authorities> {
        self.set.load_full()
    }

    /// Their certificates, PEM, the one that signs first: what a device is told to trust.
    #[must_use]
    pub fn certificates(&self) -> Vec<String> {
        certificates(&self.set())
    }

    /// The fingerprints of their certificates, hexadecimal, the one that signs first.
    #[must_use]
    pub fn fingerprints(&self) -> Vec<String> {
        fingerprints(&self.set())
    }

    /// Whose devices the listener lets in.
    #[must_use]
    pub fn trust(&self) -> Arc<DeviceTrust> {
        Arc::clone(&self.trust)
    }

    /// What this backend shows to devices.
    #[must_use]
    pub fn certificate(&self) -> Arc<ServerCertificate> {
        Arc::clone(&self.certificate)
    }

    /// Takes in what has changed in the data folder, and renews the backend's own certificate in time.
    /// Says whether other authorities count than before. What fails is told once, and those that
    /// counted go on counting.
    pub fn keep(&self, now: i64) -> bool {
        let kept = self.import(now).and_then(|changed| {
            let left = self.certificate.not_after_ms().saturating_sub(now);
            if left < i64::try_from(CERTIFICATE.as_millis() / 3).unwrap_or(0) {
                self.show(&self.set(), now)?;
            }
            Ok(changed)
        });
        let failure = kept.as_ref().err().map(ToString::to_string);
        let mut told = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = failure.as_ref().filter(|_| *told != failure) {
            tracing::error!(%error, "the authorities could not be taken in; those before go on counting");
        }
        *told = failure;
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

    /// Whether two have counted for longer than this, in milliseconds. Says so once of each two.
    pub fn takes_long(&self, lifetime: i64, now: i64) -> bool {
        let set = self.set();
        let mut overlap = self.overlap.lock().unwrap_or_else(PoisonError::into_inner);
        let of = set.retiring().map(CertificateAuthority::name);
        if overlap.of != of {
            *overlap = Overlap { of, is_told: false };
        }
        let since = set.signer().not_before_ms().saturating_add(BACKDATED);
        let is_long = of.is_some() && since.saturating_add(lifetime) < now;
        is_long && !std::mem::replace(&mut overlap.is_told, true)
    }

    fn show(&self, set: &Authorities, now: i64) -> Result<(), MtlsError> {
        let issued = set.shown(now).issue_server(&[], CERTIFICATE, now)?;
        self.certificate.replace(&issued.chain_pem, &issued.key_pem)
    }

    /// The certificates that devices were given just now.
    #[must_use]
    pub const fn given(&self) -> &RecentCertificates {
        &self.given
    }

    /// Says when other authorities count than before.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Whether a device stands on something else than what counts: its certificate is not of the authority
    /// that signs, or what it says that it trusts is another set. One that does not say what is believed.
    #[must_use]
    pub fn is_behind(&self, issuer: Fingerprint, trusts: &[Fingerprint]) -> bool {
        let set = self.set();
        let mut counts: Vec<_> = set.iter().map(CertificateAuthority::fingerprint).collect();
        let mut told = trusts.to_vec();
        counts.sort_unstable();
        told.sort_unstable();
        issuer != set.signer().name() || (!told.is_empty() && told != counts)
    }

    /// Waits until the authority of this name counts no longer.
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
        // A start finds the same.
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
