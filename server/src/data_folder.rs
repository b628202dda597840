//! The backend's data folder: the names of its files, and the lock that keeps a second backend out.

use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::{Context as _, bail};
use orion_mtls::secret_file;

/// The database.
pub const DATABASE: &str = "orion.db";
/// Where the listening addresses are written once they are known.
pub const ADDRESSES: &str = "addresses.toml";

/// The key that signs the audit log.
pub const AUDIT_KEY: &str = "audit.key";
/// The last signed checkpoint of the audit log.
pub const AUDIT_HEAD: &str = "audit.head";

/// Makes the folder, or takes the one that is there, readable by its owner alone.
///
/// # Errors
/// The folder cannot be made.
pub(crate) fn make_private(path: &Path) -> anyhow::Result<()> {
    let make = || {
        std::fs::create_dir_all(path)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
        }
        std::io::Result::Ok(())
    };
    make().with_context(|| {
        format!(
            "the data folder {} cannot be made; name a folder that you may write with --data-dir",
            path.display()
        )
    })
}

/// Takes a data folder for as long as the file is open.
///
/// # Errors
/// A backend uses it.
pub(crate) fn lock(data_dir: &Path) -> anyhow::Result<File> {
    let lock = secret_file::private().write(true).create(true).open(data_dir.join("lock"));
    let file = lock.context("the data folder cannot be written")?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!(
                "a backend is running with {}; stop it, or wait where it is stopping already, which takes up to half a minute, and run this again",
                data_dir.display()
            )
        }
        Err(TryLockError::Error(error)) => Err(error).context("the data folder cannot be locked"),
    }
}
