//! Reloads the authorities from the data folder while the backend runs, and renews its own certificate.

use std::sync::{Arc, PoisonError};

use orion_mtls::{Authorities, MtlsError};

use super::{Authority, AuthorityError, CERTIFICATE_TTL, certificates, files, fingerprints, read};

impl Authority {
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

    fn show(&self, set: &Authorities, now: i64) -> Result<(), MtlsError> {
        let issued = set.shown(now).issue_server(&[], CERTIFICATE_TTL, now)?;
        self.certificate.replace(&issued.chain_pem, &issued.key_pem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::now_ms;
    use crate::fleet::authority::{AuthorityError, change};
    use orion_mtls::CertificateAuthority;

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
}
