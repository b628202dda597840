//! The authorities' files in the data folder: `ca.pem` lists the certificates, the signing one first, and
//! `ca.key` holds the private keys. `ca.pem` is replaced atomically and is authoritative. New keys are
//! written before it, and old keys are removed after it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use orion_mtls::secret_file::{self, SecretFileError};
use orion_mtls::{Authorities, MtlsError};

/// The private keys.
const KEYS: &str = "ca.key";
/// The certificates.
const CERTIFICATES: &str = "ca.pem";
/// Locked while the authorities are changed.
const LOCK: &str = "ca.lock";

/// Why the authorities cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// There are no authorities.
    #[error(
        "there is no authority in {}; `orion-server run` makes one at its first start", .0.display()
    )]
    Missing(PathBuf),
    /// The authorities are missing, and there were some.
    #[error(
        "ca.key is missing in {}, or ca.pem is too, and the database knows the devices that trust it; restore both from a backup", .0.display()
    )]
    Gone(PathBuf),
    /// There are keys without certificates.
    #[error("ca.pem is missing beside ca.key in {}; restore both from a backup", .0.display())]
    HalfMissing(PathBuf),
    /// The certificates cannot be read.
    #[error("{} cannot be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The keys cannot be read or written, or the certificates cannot be written.
    #[error(transparent)]
    File(#[from] SecretFileError),
    /// The files do not hold valid authorities, or none can be created.
    #[error("ca.key and ca.pem cannot be used: {0}; restore both from a backup")]
    Unusable(#[from] MtlsError),
    /// Another command is changing the authorities.
    #[error("another command is changing the authorities; wait for it to end")]
    Busy,
    /// New files would belong to another user than the backend's.
    #[error(
        "{} belongs to another user, who could not read what is written here; run this as that user", .0.display()
    )]
    OtherUser(PathBuf),
    /// Two authorities are active already.
    #[error(
        "one authority is taking over from another already; end that first with `orion-server ca retire`"
    )]
    TakingOver,
    /// There is only one authority, so none can be retired.
    #[error(
        "there is one authority only, and nothing to retire; `orion-server ca rotate` makes another"
    )]
    OnlyOne,
    /// Another command changed the authorities since they were read.
    #[error(
        "the authorities have changed since, and nothing was done; look at them with `orion-server ca list` and run the command again"
    )]
    Changed,
    /// The store failed.
    #[error("the database cannot be read: {0}")]
    Store(#[from] crate::store::StoreError),
}

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

/// Locks the authorities against changes while the returned file is open. Writes nothing: where no command
/// ever changed them, there is no lock file.
///
/// # Errors
/// A command is changing them, or the lock file cannot be opened.
pub fn hold(folder: &Path) -> Result<Option<File>, AuthorityError> {
    let path = folder.join(LOCK);
    match File::open(&path) {
        Ok(file) => {
            file.try_lock_shared().map_err(|_| AuthorityError::Busy)?;
            Ok(Some(file))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(AuthorityError::Unreadable { path, error }),
    }
}

fn lock(folder: &Path) -> Result<File, AuthorityError> {
    let path = folder.join(LOCK);
    let failed = |error| AuthorityError::Unreadable { path: path.clone(), error };
    let file = secret_file::private().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let owner = fs::metadata(folder).map_err(failed)?.uid();
        if file.metadata().map_err(failed)?.uid() != owner {
            return Err(AuthorityError::OtherUser(folder.to_owned()));
        }
    }
    file.try_lock().map_err(|_| AuthorityError::Busy)?;
    Ok(file)
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
