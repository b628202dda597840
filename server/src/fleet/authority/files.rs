//! The authorities' files in the data folder: `ca.pem` lists the certificates, the signing one first, and
//! `ca.key` holds the private keys. `ca.pem` is replaced atomically and is authoritative. New keys are
//! written before it, and old keys are removed after it.

mod error;
mod lock;

use std::path::Path;
use std::{fs, io};

use orion_mtls::{Authorities, secret_file};

pub use error::AuthorityError;
pub use lock::hold;
use lock::lock;

/// The private keys.
const KEYS: &str = "ca.key";

/// The certificates.
const CERTIFICATES: &str = "ca.pem";

/// Returns the certificates' text, to compare it with the loaded one.
pub(super) fn certificates(folder: &Path) -> Result<String, AuthorityError> {
    let path = folder.join(CERTIFICATES);
    fs::read_to_string(&path).map_err(|error| {
        if error.kind() != io::ErrorKind::NotFound {
            AuthorityError::Unreadable { path, error }
        } else if folder.join(KEYS).exists() {
            AuthorityError::HalfMissing(folder.to_owned())
        } else {
            AuthorityError::Missing(folder.to_owned())
        }
    })
}

/// Reads the authorities.
///
/// # Errors
/// [`AuthorityError`]; [`AuthorityError::Missing`] where there are none yet.
pub fn read(folder: &Path) -> Result<Authorities, AuthorityError> {
    let certificates = certificates(folder)?;
    // An interrupted first start leaves certificates without keys.
    if !folder.join(KEYS).exists() {
        return Err(AuthorityError::Missing(folder.to_owned()));
    }
    let keys = secret_file::read_text(&folder.join(KEYS))?;
    Ok(Authorities::load(keys.expose(), &certificates)?)
}

/// Writes the first authority.
pub(super) fn create(folder: &Path, set: &Authorities) -> Result<(), AuthorityError> {
    // The certificate first: a key without it would look like lost certificates.
    secret_file::write(&folder.join(CERTIFICATES), set.certs_pem().as_bytes())?;
    secret_file::write(&folder.join(KEYS), set.keys_pem().expose().as_bytes())?;
    Ok(())
}

/// Changes the authorities, one command at a time. Where it is interrupted, the files hold either the old or
/// the new authorities, complete.
///
/// # Errors
/// [`AuthorityError`]; the old authorities are unchanged then.
pub fn change<T>(
    folder: &Path,
    change: impl FnOnce(Authorities) -> Result<(Authorities, T), AuthorityError>,
) -> Result<T, AuthorityError> {
    let _lock = lock(folder)?;
    let before = read(folder)?;
    let keys_before = before.keys_pem();
    let (after, output) = change(before)?;
    let keys = after.keys_pem();
    let both = [keys.expose().as_str(), keys_before.expose().as_str()].concat();
    secret_file::write(&folder.join(KEYS), both.as_bytes())?;
    secret_file::write(&folder.join(CERTIFICATES), after.certs_pem().as_bytes())?;
    secret_file::write(&folder.join(KEYS), keys.expose().as_bytes())?;
    Ok(output)
}

#[cfg(test)]
mod tests {
    use orion_mtls::CertificateAuthority;

    use super::*;
    use crate::clock::now_ms;

    fn authority() -> CertificateAuthority {
        CertificateAuthority::create(now_ms()).unwrap()
    }

    fn rotate(folder: &Path) -> Result<(), AuthorityError> {
        change(folder, |set| Ok((set.rotated(authority()).ok_or(AuthorityError::TakingOver)?, ())))
    }

    #[test]
    fn an_authority_takes_over_and_the_one_before_goes() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(matches!(read(folder), Err(AuthorityError::Missing(_))));
        let first = Authorities::one(authority());
        create(folder, &first).unwrap();
        let print = first.signer().fingerprint();
        rotate(folder).unwrap();
        let both = read(folder).unwrap();
        assert_eq!(both.retiring().unwrap().fingerprint(), print);
        assert!(matches!(rotate(folder), Err(AuthorityError::TakingOver)));
        let gone = change(folder, |set| set.retired().ok_or(AuthorityError::OnlyOne)).unwrap();
        assert_eq!(gone.fingerprint(), print);
        let left = read(folder).unwrap();
        assert_eq!(left.certs_pem(), both.signer().cert_pem());
        let keys = fs::read_to_string(folder.join(KEYS)).unwrap();
        assert_eq!(keys.matches("BEGIN").count(), 1, "the key of what was retired is gone");
        let again = change(folder, |set| set.retired().ok_or(AuthorityError::OnlyOne));
        assert!(matches!(again, Err(AuthorityError::OnlyOne)));
    }

    #[test]
    fn one_command_at_a_time_changes_them_and_half_of_them_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        create(folder, &Authorities::one(authority())).unwrap();
        let held = lock(folder).unwrap();
        assert!(matches!(rotate(folder), Err(AuthorityError::Busy)));
        assert!(matches!(hold(folder), Err(AuthorityError::Busy)));
        drop(held);
        let held = hold(folder).unwrap().unwrap();
        assert!(hold(folder).unwrap().is_some(), "two may look at once");
        assert!(matches!(rotate(folder), Err(AuthorityError::Busy)));
        drop(held);
        fs::remove_file(folder.join(CERTIFICATES)).unwrap();
        assert!(matches!(read(folder), Err(AuthorityError::HalfMissing(_))));
    }
}
