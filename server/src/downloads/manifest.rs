//! The manifest: which agents are served, each with its version, size and SHA-256. The files beside it are named by
//! their SHA-256.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use orion_domain::Digest;
use serde::{Deserialize, Serialize};

use super::{Platform, ReleaseError};

const FILE: &str = "manifest.toml";
const MAX_BYTES: u64 = 64 * 1024;

/// The agents that are served, one for each platform.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    #[serde(default)]
    releases: BTreeMap<Platform, Release>,
}

/// An agent that is served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Its version.
    pub version: String,
    /// Its SHA-256.
    pub sha256: Digest,
    /// Its size.
    pub size_bytes: u64,
    /// Its signature, in the form of minisign.
    pub signature: Option<String>,
}

impl Release {
    /// Returns the name of its file.
    #[must_use]
    pub fn file_name(&self) -> String {
        self.sha256.to_string()
    }
}

impl Manifest {
    /// Reads the manifest of a folder. A folder without one serves nothing.
    ///
    /// # Errors
    /// [`ReleaseError`].
    pub fn read(folder: &Path) -> Result<Self, ReleaseError> {
        let path = folder.join(FILE);
        let file = match fs::File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(ReleaseError::at(&path)(error)),
        };
        let text = io::read_to_string(io::Read::take(file, MAX_BYTES));
        let text = text.map_err(ReleaseError::at(&path))?;
        toml::from_str(&text)
            .map_err(|error| ReleaseError::Manifest { path, why: error.message().to_owned() })
    }

    /// Writes the manifest into a folder, in one step.
    ///
    /// # Errors
    /// [`ReleaseError`].
    pub fn write(&self, folder: &Path) -> Result<(), ReleaseError> {
        let (path, new) = (folder.join(FILE), folder.join("manifest.toml.new"));
        let write = || {
            fs::write(&new, toml::to_string(self).map_err(io::Error::other)?)?;
            fs::File::open(&new)?.sync_all()?;
            fs::rename(&new, &path)
        };
        write().map_err(ReleaseError::at(&path))
    }

    /// Returns the agent of a platform.
    #[must_use]
    pub fn get(&self, platform: Platform) -> Option<&Release> {
        self.releases.get(&platform)
    }

    /// Returns the agents.
    pub fn iter(&self) -> impl Iterator<Item = (Platform, &Release)> {
        self.releases.iter().map(|(platform, release)| (*platform, release))
    }

    /// Returns whether no agent is served.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.releases.is_empty()
    }

    /// Keeps the agents for which this holds.
    pub fn retain(&mut self, keep: impl Fn(&Release) -> bool) {
        self.releases.retain(|_, release| keep(release));
    }

    /// Adds an agent, and returns the one that it replaces.
    pub fn insert(&mut self, platform: Platform, release: Release) -> Option<Release> {
        self.releases.insert(platform, release)
    }

    /// Removes an agent.
    pub fn remove(&mut self, platform: Platform) -> Option<Release> {
        self.releases.remove(&platform)
    }
}
