//! The active certificate authorities of one installation: one that signs devices and, during a
//! rotation, the previous one.
//!
//! During a rotation both are trusted, and the newer signs new devices. The backend presents a
//! certificate of the **older**: every device trusts it, even a device that was offline since.

use std::fmt;

use rcgen::{KeyPair, PublicKeyData as _};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;

use crate::authority::CertificateAuthority;
use crate::certificate::{Facts, chain_from_pem};
use crate::error::MtlsError;
use crate::fingerprint::Fingerprint;
use crate::secret::Secret;

/// The maximum number of authorities at one time.
const MAX_AUTHORITIES: usize = 2;
/// The maximum number of keys: a rotation can leave keys without a certificate for a moment.
const MAX_KEYS: usize = 8;

/// The active authorities. Immutable: a change creates another set.
pub struct Authorities {
    signer: CertificateAuthority,
    retiring: Option<CertificateAuthority>,
}

impl Authorities {
    /// Creates a set of one authority.
    pub fn one(signer: CertificateAuthority) -> Self {
        Self { signer, retiring: None }
    }

    /// Reads what [`keys_pem`](Self::keys_pem) and [`certs_pem`](Self::certs_pem) returned. The
    /// certificates decide: the first signs, the second is retiring. A key that belongs to neither is
    /// ignored.
    ///
    /// # Errors
    /// [`MtlsError`] when there is no authority or there are more than two, one has no key, or something
    /// cannot be read.
    pub fn load(keys_pem: &str, certs_pem: &str) -> Result<Self, MtlsError> {
        let mut keys = Vec::new();
        for key in PrivateKeyDer::pem_slice_iter(keys_pem.as_bytes()) {
            let key = key.ok().and_then(|key| KeyPair::try_from(&key).ok());
            keys.push(key.ok_or(MtlsError::UnreadableKey)?);
            if keys.len() > MAX_KEYS {
                return Err(MtlsError::UnreadableKey);
            }
        }
        let certificates = chain_from_pem(certs_pem)?;
        if keys.is_empty() {
            return Err(MtlsError::UnreadableKey);
        }
        if certificates.len() > MAX_AUTHORITIES {
            return Err(MtlsError::CertificateCount {
                expected: "one or two certificate authorities",
                found: certificates.len(),
            });
        }
        let mut authorities = certificates.into_iter().map(|certificate| {
            let named = Facts::read(&certificate)?.public_key;
            let at = keys
                .iter()
                .position(|key| Fingerprint::of_public_key(&key.subject_public_key_info()) == named)
                .ok_or(MtlsError::KeyMismatch)?;
            CertificateAuthority::from_parts(keys.swap_remove(at), certificate)
        });
        let signer = authorities.next().transpose()?.ok_or(MtlsError::NotAnAuthority)?;
        let retiring = authorities.next().transpose()?;
        Ok(Self { signer, retiring })
    }

    /// Returns the private keys, PKCS#8 PEM, in the order of the certificates.
    pub fn keys_pem(&self) -> Secret<String> {
        Secret::new(joined(self.iter().map(|authority| authority.key_pem().into_inner())))
    }

    /// Returns the certificates, PEM, the signing one first.
    pub fn certs_pem(&self) -> String {
        joined(self.iter().map(|authority| authority.cert_pem().to_owned()))
    }

    /// Returns the authority that signs devices.
    pub fn signer(&self) -> &CertificateAuthority {
        &self.signer
    }

    /// Returns the previous authority, which is still trusted.
    pub fn retiring(&self) -> Option<&CertificateAuthority> {
        self.retiring.as_ref()
    }

    /// Returns the authority whose certificate the backend presents at `now_ms`, Unix milliseconds: the
    /// older one, unless it has expired.
    pub fn shown(&self, now_ms: i64) -> &CertificateAuthority {
        self.retiring
            .as_ref()
            .filter(|retiring| retiring.is_in_date(now_ms))
            .unwrap_or(&self.signer)
    }

    /// Returns all authorities, the signing one first.
    pub fn iter(&self) -> impl Iterator<Item = &CertificateAuthority> {
        std::iter::once(&self.signer).chain(&self.retiring)
    }

    /// Returns whether one of the authorities has this name.
    pub fn holds(&self, name: &Fingerprint) -> bool {
        self.iter().any(|authority| authority.name() == *name)
    }

    /// Makes `signer` the signing authority. `None` while another rotation is in progress.
    pub fn rotated(self, signer: CertificateAuthority) -> Option<Self> {
        match self.retiring {
            Some(_) => None,
            None => Some(Self { signer, retiring: Some(self.signer) }),
        }
    }

    /// Removes the older authority. `None` where there is only one.
    pub fn retired(self) -> Option<(Self, CertificateAuthority)> {
        let retiring = self.retiring?;
        Some((Self::one(self.signer), retiring))
    }
}

/// Joins PEM texts, each on lines of its own.
fn joined(pems: impl Iterator<Item = String>) -> String {
    pems.map(|pem| format!("{}\n", pem.trim_end())).collect()
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_795_132_800_000;

    fn authority() -> CertificateAuthority {
        CertificateAuthority::create(NOW).unwrap()
    }

    fn names(set: &Authorities) -> Vec<Fingerprint> {
        set.iter().map(CertificateAuthority::fingerprint).collect()
    }

    #[test]
    fn a_set_survives_being_written_and_read_with_one_and_with_two() {
        let one = Authorities::one(authority());
        let two = Authorities::one(authority()).rotated(authority()).unwrap();
        for set in [one, two] {
            let read = Authorities::load(set.keys_pem().expose(), &set.certs_pem()).unwrap();
            assert_eq!(names(&read), names(&set));
            assert_eq!(read.certs_pem(), set.certs_pem());
            assert_eq!(read.keys_pem().expose(), set.keys_pem().expose());
        }
    }

    #[test]
    fn what_one_authority_wrote_before_there_were_sets_is_a_set_of_one() {
        let authority = authority();
        let read = Authorities::load(authority.key_pem().expose(), authority.cert_pem()).unwrap();
        assert_eq!(names(&read), [authority.fingerprint()]);
    }

    #[test]
    fn the_new_one_signs_the_old_one_is_shown_and_a_third_waits() {
        let (old, new) = (authority(), authority());
        let (old_print, new_print) = (old.fingerprint(), new.fingerprint());
        let set = Authorities::one(old).rotated(new).unwrap();
        assert_eq!(set.signer().fingerprint(), new_print);
        assert_eq!(set.shown(NOW).fingerprint(), old_print);
        assert_eq!(set.shown(set.signer().not_after_ms()).fingerprint(), new_print, "when it ends");
        assert!(set.holds(&set.signer().name()) && set.holds(&set.retiring().unwrap().name()));
        let (left, gone) = set.retired().unwrap();
        assert_eq!((names(&left), gone.fingerprint()), (vec![new_print], old_print));
        assert!(!left.holds(&gone.name()));
        assert!(left.retired().is_none());
        let two = Authorities::one(authority()).rotated(authority()).unwrap();
        assert!(two.rotated(authority()).is_none());
    }

    /// The state that a change interrupted between its two files leaves.
    #[test]
    fn the_certificates_decide_and_a_key_more_is_left_alone() {
        let (old, new) = (authority(), authority());
        let both = [new.key_pem().into_inner(), old.key_pem().into_inner()].concat();
        let read = Authorities::load(&both, old.cert_pem()).unwrap();
        assert_eq!(names(&read), [old.fingerprint()]);
    }

    #[test]
    fn what_is_no_set_is_refused() {
        let [a, b, c] = [(); 3].map(|()| authority());
        let keys = [&a, &b, &c].map(|authority| authority.key_pem().into_inner()).concat();
        let three = [a.cert_pem(), b.cert_pem(), c.cert_pem()].concat();
        let read = |keys: &str, certs: &str| Authorities::load(keys, certs).unwrap_err();
        assert!(matches!(read(&keys, &three), MtlsError::CertificateCount { found: 3, .. }));
        assert!(matches!(read("", a.cert_pem()), MtlsError::UnreadableKey));
        assert!(matches!(read(b.key_pem().expose(), a.cert_pem()), MtlsError::KeyMismatch));
        let twice = [a.cert_pem(), a.cert_pem()].concat();
        assert!(matches!(read(a.key_pem().expose(), &twice), MtlsError::KeyMismatch));
        assert!(Authorities::load(&keys, "").is_err());
        assert!(Authorities::load("garbage", a.cert_pem()).is_err());
    }
}
