//! Files of backups and data folders: copied with a limit, readable by their owner alone, and synced.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use orion_mtls::secret_file;

/// The largest file besides the database, in bytes: keys and certificates.
pub(super) const MAX_BYTES: u64 = 1024 * 1024;

pub(super) fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    File::open(from)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    ensure!(
        bytes.len() as u64 <= MAX_BYTES,
        "{} is larger than anything that a backend keeps; move it out of the data folder",
        from.display()
    );
    Ok(secret_file::write(to, &bytes)?)
}

pub(super) fn private(path: &Path) -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    File::open(path)?.sync_all()?;
    Ok(())
}

pub(super) fn make_private(path: &Path) -> anyhow::Result<PathBuf> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).with_context(|| format!("{} cannot be made", path.display()))?;
    Ok(path.to_owned())
}

#[cfg(unix)]
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(not(unix))]
pub(super) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}
