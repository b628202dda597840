//! The folder for temporary files of one call, which goes with the call.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use orion_domain::CallId;

use super::system;

/// A folder that only its owner may enter. Removed with its content at the end.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes the folder of a call below `parent`.
    pub(super) fn create(parent: &Path, call: CallId) -> io::Result<Self> {
        let path = parent.join(call.to_string());
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    /// Returns the folder's path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns a handle that names the folder.
    pub(crate) fn handle(&self) -> Option<OwnedFd> {
        system::handle(&self.0)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(kind = %error.kind(), "the temporary files of a command could not be removed");
        }
    }
}
