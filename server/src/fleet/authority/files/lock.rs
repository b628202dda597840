//! Locks the authorities, so that one command at a time changes them and none changes them during a backup.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use orion_mtls::secret_file;

use super::error::AuthorityError;

/// Locked while the authorities are changed.
const LOCK: &str = "ca.lock";

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

pub(super) fn lock(folder: &Path) -> Result<File, AuthorityError> {
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
