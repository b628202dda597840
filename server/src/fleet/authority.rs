//! The certificate authorities that sign the certificates of devices and of this backend. `orion-server ca`
//! changes them in the data folder; a running backend reloads them.

mod files;
mod overlap;
mod recent_certificates;
mod reload;
mod renewal;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use orion_mtls::{Authorities, CertificateAuthority, DeviceTrust, ServerCertificate};
use tokio::sync::watch;

pub use files::{AuthorityError, change, hold, read};
use overlap::Overlap;
pub use recent_certificates::RecentCertificates;

/// Lifetime of the backend's own certificate. It is issued at each start, after each change of authority, and
/// well before it expires.
const CERTIFICATE_TTL: Duration = Duration::from_secs(30 * 24 * 3600);

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

    /// Returns the certificates that devices received a moment ago.
    #[must_use]
    pub const fn given(&self) -> &RecentCertificates {
        &self.given
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
