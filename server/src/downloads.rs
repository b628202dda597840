//! What devices download: the agents in one folder, by a manifest, and the scripts that install one. Only
//! `orion-server releases` changes the folder, and only what the manifest lists is served.

pub mod command;
mod error;
mod lines;
mod manifest;
mod platform;
mod script;

use std::path::PathBuf;

use minisign_verify::PublicKey;
use orion_domain::Digest;
use tokio::fs::File;

pub use error::ReleaseError;
pub use lines::{InstallLines, Words};
pub use manifest::{Manifest, Release};
pub use platform::Platform;
pub use script::Script;

use crate::config::Config;

/// The folder of the agents, below the data folder.
const FOLDER: &str = "releases";

/// What devices download.
#[derive(Debug)]
pub struct Downloads {
    folder: PathBuf,
    /// Where devices reach the port of people. None where they cannot.
    base: Option<Base>,
    public_key: Option<PublicKey>,
}

/// Where devices reach the port of people.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Base {
    url: String,
    /// Whether the lines name the script's SHA-256.
    is_pinned: bool,
}

impl Downloads {
    /// `people_url` is where this machine reaches the port of people; `device_addresses` are what tokens contain.
    #[must_use]
    pub fn new(
        config: &Config,
        data_dir: &std::path::Path,
        people_url: &str,
        device_addresses: &[String],
    ) -> Self {
        let downloads = &config.downloads;
        let url = match &downloads.url {
            Some(url) => Some(url.clone()),
            None => lines::reachable(people_url, device_addresses).then(|| people_url.to_owned()),
        };
        let is_known = downloads.url.is_some() || config.people.certificate.is_some();
        let base = url.map(|url| {
            let is_public = is_known && config.people.tls.is_none() && url.starts_with("https:");
            Base { is_pinned: downloads.pin.unwrap_or(!is_public), url }
        });
        let key = downloads.public_key.as_deref();
        Self {
            folder: folder(config, data_dir),
            base,
            public_key: key.and_then(|key| PublicKey::from_base64(key).ok()),
        }
    }

    /// Returns the agents that are served.
    ///
    /// # Errors
    /// [`ReleaseError`], where the manifest cannot be read.
    pub fn manifest(&self) -> Result<Manifest, ReleaseError> {
        let mut manifest = Manifest::read(&self.folder)?;
        manifest.retain(|release| self.public_key.is_none() || release.signature.is_some());
        Ok(manifest)
    }

    /// Returns the script of a shell. None where devices do not reach this backend.
    ///
    /// # Errors
    /// [`ReleaseError`].
    pub fn script(&self) -> Result<Option<Script>, ReleaseError> {
        let Some(base) = &self.base else { return Ok(None) };
        Ok(Some(Script::for_a_shell(&base.url, base.is_pinned, &self.manifest()?)))
    }

    /// Returns the script of PowerShell. None where devices do not reach this backend.
    ///
    /// # Errors
    /// [`ReleaseError`].
    pub fn powershell_script(&self) -> Result<Option<Script>, ReleaseError> {
        let Some(base) = &self.base else { return Ok(None) };
        Ok(Some(Script::for_powershell(&base.url, base.is_pinned, &self.manifest()?)))
    }

    /// Returns the lines that install an agent with these words for it. None where nothing can be installed.
    ///
    /// # Errors
    /// [`ReleaseError`].
    pub fn lines(&self, words: &Words) -> Result<Option<InstallLines>, ReleaseError> {
        let Some(base) = &self.base else { return Ok(None) };
        let manifest = self.manifest()?;
        if manifest.is_empty() {
            return Ok(None);
        }
        let Base { url, is_pinned } = base;
        let pin = |script: &Script| is_pinned.then(|| Digest::of(script.text().as_bytes()));
        let script = Script::for_a_shell(url, *is_pinned, &manifest);
        let lines = InstallLines::new(url, pin(&script), words);
        if manifest.get(Platform::WindowsX86_64).is_none() {
            return Ok(Some(lines));
        }
        let script = Script::for_powershell(url, *is_pinned, &manifest);
        Ok(Some(lines.with_powershell(url, pin(&script), words)))
    }

    /// Opens an agent, with its size in bytes. None if there is none.
    ///
    /// # Errors
    /// [`ReleaseError`].
    pub async fn open(&self, platform: Platform) -> Result<Option<(File, u64)>, ReleaseError> {
        let manifest = self.manifest()?;
        let Some(release) = manifest.get(platform) else { return Ok(None) };
        let path = self.folder.join(release.file_name());
        let opened = async {
            let file = File::open(&path).await?;
            let size = file.metadata().await?.len();
            Ok((file, size))
        };
        let (file, size) = opened.await.map_err(ReleaseError::at(&path))?;
        // A file of another size is another file; the device would find that out at the end only.
        if size == release.size_bytes {
            Ok(Some((file, size)))
        } else {
            Err(ReleaseError::Changed { path })
        }
    }
}

/// Returns the folder of the agents.
fn folder(config: &Config, data_dir: &std::path::Path) -> PathBuf {
    config.downloads.folder.clone().unwrap_or_else(|| data_dir.join(FOLDER))
}
