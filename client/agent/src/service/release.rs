//! A release of the agent: a program with a signature of minisign, whose trusted comment says what it is. The connection
//! that it comes over is not trusted.

use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use minisign_verify::{PublicKey, Signature};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use semver::Version;

use super::trusted_comment;
use crate::config::UpgradeSettings;
use crate::process::SystemProgram;

/// The largest signature.
const MAX_SIGNATURE_BYTES: usize = 4096;
/// The largest program.
const MAX_PROGRAM_BYTES: u64 = 256 * 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long the program may take to come.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_mins(15);
/// What this program is, as trusted comments say it.
const PROGRAM: &str = "orion-agent";

/// Why there is no release that may be installed.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The owner forbids upgrades.
    #[error(
        "agent.toml forbids upgrades of this agent ([upgrade] allow = false); its owner changes that"
    )]
    Forbidden,
    /// The owner names no key.
    #[error(
        "agent.toml names no key that releases are signed with; write public_key into [upgrade], from the minisign.pub of the people who build them"
    )]
    NoKey,
    /// The owner names no address.
    #[error(
        "agent.toml names no backend to get releases from; write url into [upgrade], such as https://orion.example"
    )]
    NoUrl,
    /// The backend does not answer, or not with a release.
    #[error("{url}: {why}; nothing was changed")]
    Fetch {
        /// The address.
        url: String,
        /// Why.
        why: String,
    },
    /// There is no agent for this platform, or it has no signature.
    #[error(
        "{url} has no signed agent for {platform}; its admin adds one with `orion-server releases add`"
    )]
    None {
        /// The backend.
        url: String,
        /// This platform.
        platform: &'static str,
    },
    /// The signature is not one of this program by the owner's key.
    #[error("the release is not signed by the key in agent.toml: {0}; nothing was changed")]
    Signature(minisign_verify::Error),
    /// What is signed is not an agent for this platform.
    #[error("what is signed is {found:?} and not an agent for {platform}; nothing was changed")]
    Other {
        /// What the signature says.
        found: String,
        /// This platform.
        platform: &'static str,
    },
    /// The release is older.
    #[error(
        "the release {offered} is older than this agent, {current}; an upgrade never goes back to an older version"
    )]
    Older {
        /// The version of the release.
        offered: Version,
        /// The version of this program.
        current: Version,
    },
    /// The program cannot be written beside the one that runs.
    #[error(
        "the new program cannot be written to {path}: {source}; nothing was changed; make room on that disk, or correct what the error says, and run this again",
        path = path.display()
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("{path}: {source}; nothing was changed", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// A release whose comment the owner's key signed. Whether the program is what it signed is known when that was read.
#[derive(Clone)]
pub struct Release {
    key: PublicKey,
    signature: Signature,
    version: Version,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    /// The program's address.
    Backend(Url),
    File(PathBuf),
}

impl Source {
    /// Adds where the program comes from to why it is not taken.
    fn failed(&self, source: io::Error) -> ReleaseError {
        match self {
            Self::Backend(url) => {
                ReleaseError::Fetch { url: url.to_string(), why: source.to_string() }
            }
            Self::File(path) => ReleaseError::Io { path: path.clone(), source },
        }
    }
}

impl fmt::Debug for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Release").field("version", &self.version).finish_non_exhaustive()
    }
}

impl Release {
    /// Looks which release the backend has for this platform. None if it is this version.
    ///
    /// # Errors
    /// [`ReleaseError`].
    pub async fn of_backend(settings: &UpgradeSettings) -> Result<Option<Self>, ReleaseError> {
        let key = key(settings)?;
        let base = settings.url.as_deref().ok_or(ReleaseError::NoUrl)?;
        let platform = platform();
        let program = format!("{}/download/{platform}/orion-agent", base.trim_end_matches('/'));
        let signature = format!("{program}.minisig");
        let response = get(&signature)
            .await?
            .ok_or_else(|| ReleaseError::None { url: base.to_owned(), platform })?;
        let mut text = Vec::new();
        read(response, &signature, |part| {
            text.extend_from_slice(part);
            let too_large =
                || ReleaseError::Fetch { url: signature.clone(), why: too_large().to_string() };
            (text.len() <= MAX_SIGNATURE_BYTES).then_some(()).ok_or_else(too_large)
        })
        .await?;
        let program = Url::parse(&program)
            .map_err(|error| ReleaseError::Fetch { url: program, why: error.to_string() })?;
        Self::signed(key, &String::from_utf8_lossy(&text), Source::Backend(program))
    }

    /// Looks at a release in files. None if it is this version.
    ///
    /// # Errors
    /// [`ReleaseError`].
    pub fn of_file(
        settings: &UpgradeSettings,
        program: &Path,
        signature: &Path,
    ) -> Result<Option<Self>, ReleaseError> {
        let key = key(settings)?;
        let text = std::fs::File::open(signature)
            .and_then(|file| io::read_to_string(file.take(MAX_SIGNATURE_BYTES as u64)))
            .map_err(|source| ReleaseError::Io { path: signature.to_owned(), source })?;
        Self::signed(key, &text, Source::File(program.to_owned()))
    }

    fn signed(
        (key, public_key): (PublicKey, &str),
        text: &str,
        source: Source,
    ) -> Result<Option<Self>, ReleaseError> {
        let signature = Signature::decode(text).map_err(ReleaseError::Signature)?;
        trusted_comment::verify((&key, public_key), (&signature, text))
            .map_err(ReleaseError::Signature)?;
        let version = version_of(signature.trusted_comment())?;
        let current = current();
        match version.cmp_precedence(&current) {
            std::cmp::Ordering::Less => Err(ReleaseError::Older { offered: version, current }),
            std::cmp::Ordering::Equal => Ok(None),
            std::cmp::Ordering::Greater => Ok(Some(Self { key, signature, version, source })),
        }
    }

    /// Returns the version.
    #[must_use]
    pub const fn version(&self) -> &Version {
        &self.version
    }

    /// Writes the program to a file, and checks its signature.
    ///
    /// # Errors
    /// [`ReleaseError`]; then what was written is not to be used.
    pub(super) async fn write_to(
        &self,
        file: &mut std::fs::File,
        path: &Path,
    ) -> Result<(), ReleaseError> {
        use std::io::Write as _;
        let unwritten = |source| ReleaseError::Write { path: path.to_owned(), source };
        let mut verifier =
            self.key.verify_stream(&self.signature).map_err(ReleaseError::Signature)?;
        let mut size = 0_u64;
        let mut take = |part: &[u8]| {
            size = size.saturating_add(part.len() as u64);
            if size > MAX_PROGRAM_BYTES {
                return Err(self.source.failed(too_large()));
            }
            verifier.update(part);
            file.write_all(part).map_err(unwritten)
        };
        match &self.source {
            Source::Backend(url) => {
                let response = get(url.as_str()).await?.ok_or_else(|| ReleaseError::None {
                    url: url.to_string(),
                    platform: platform(),
                })?;
                read(response, url.as_str(), take).await?;
            }
            Source::File(from) => {
                let failed = |source| self.source.failed(source);
                let mut source = std::fs::File::open(from).map_err(failed)?;
                let mut chunk = vec![0; 256 * 1024];
                loop {
                    let read = source.read(&mut chunk).map_err(failed)?;
                    if read == 0 {
                        break;
                    }
                    take(chunk.get(..read).unwrap_or_default())?;
                }
            }
        }
        verifier.finalize().map_err(ReleaseError::Signature)?;
        file.sync_all().map_err(unwritten)
    }
}

/// Returns the owner's key, and the text that it was read from.
fn key(settings: &UpgradeSettings) -> Result<(PublicKey, &str), ReleaseError> {
    if !settings.allow {
        return Err(ReleaseError::Forbidden);
    }
    let key = settings.public_key.as_deref().ok_or(ReleaseError::NoKey)?;
    Ok((PublicKey::from_base64(key).map_err(ReleaseError::Signature)?, key))
}

/// Returns the version in a trusted comment `orion-agent VERSION PLATFORM`, for this platform.
fn version_of(comment: &str) -> Result<Version, ReleaseError> {
    let other =
        || ReleaseError::Other { found: comment.chars().take(100).collect(), platform: platform() };
    let words: Vec<&str> = comment.split(' ').collect();
    match words.as_slice() {
        [program, version, on] if *program == PROGRAM && *on == platform() => {
            Version::parse(version).map_err(|_| other())
        }
        _ => Err(other()),
    }
}

/// Returns the version of this program.
pub(super) fn current() -> Version {
    Version::parse(env!("CARGO_PKG_VERSION")).unwrap_or(Version::new(0, 0, 0))
}

/// Runs an agent for its version. None where it does not run, or says none.
pub(super) async fn installed_version(program: &Path) -> Option<Version> {
    let said = SystemProgram::at(program.to_owned()).run(&["--version"]).await.ok()?;
    Version::parse(said.trim().strip_prefix(PROGRAM)?.trim()).ok()
}

/// Returns this platform, as backends name it.
const fn platform() -> &'static str {
    if cfg!(windows) {
        "windows-x86_64"
    } else if cfg!(target_os = "macos") {
        "macos-aarch64"
    } else if cfg!(target_arch = "aarch64") {
        "linux-aarch64"
    } else {
        "linux-x86_64"
    }
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than any release")
}

/// Asks for an address. None if nothing is there.
async fn get(url: &str) -> Result<Option<Response>, ReleaseError> {
    let failed = |why: String| ReleaseError::Fetch { url: url.to_owned(), why };
    // The client panics without a provider.
    orion_mtls::install_crypto_provider();
    let client = Client::builder()
        .user_agent(concat!("orion/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        // The signature is what is trusted, and backends often have a certificate of their own.
        .tls_danger_accept_invalid_certs(true)
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(DOWNLOAD_TIMEOUT)
        .build()
        .map_err(|error| failed(error.to_string()))?;
    let response = client.get(url).send().await.map_err(|error| {
        failed(
            if error.is_connect() { "it accepts no connection" } else { "it does not answer" }
                .to_owned(),
        )
    })?;
    match response.status() {
        StatusCode::OK => Ok(Some(response)),
        StatusCode::NOT_FOUND => Ok(None),
        status => Err(failed(format!("it answers {status}"))),
    }
}

/// Reads an answer part by part.
async fn read(
    mut response: Response,
    url: &str,
    mut take: impl FnMut(&[u8]) -> Result<(), ReleaseError>,
) -> Result<(), ReleaseError> {
    let failed = |why: String| ReleaseError::Fetch { url: url.to_owned(), why };
    loop {
        let part = response.chunk().await;
        match part.map_err(|_| failed("the connection ended before all of it came".to_owned()))? {
            Some(part) => take(&part)?,
            None => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_names_this_program_a_version_and_this_platform() {
        let on = platform();
        assert_eq!(version_of(&format!("orion-agent 1.2.3 {on}")).unwrap(), Version::new(1, 2, 3));
        for other in [
            format!("orion-server 1.2.3 {on}"),
            "orion-agent 1.2.3 freebsd-x86_64".to_owned(),
            format!("orion-agent newest {on}"),
            format!("orion-agent 1.2.3  {on}"),
            "timestamp:1700000000\tfile:orion-agent".to_owned(),
            String::new(),
        ] {
            assert!(matches!(version_of(&other), Err(ReleaseError::Other { .. })), "{other}");
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_full_disk_is_named_and_not_what_was_read() {
        use trusted_comment::tests::{KEY, TEXT};
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("offered");
        std::fs::write(&from, "test").unwrap();
        let release = Release {
            key: PublicKey::from_base64(KEY).unwrap(),
            signature: Signature::decode(TEXT).unwrap(),
            version: Version::new(9, 1, 0),
            source: Source::File(from),
        };
        let full = Path::new("/dev/full");
        let mut file = std::fs::OpenOptions::new().write(true).open(full).unwrap();
        let error = release.write_to(&mut file, full).await.unwrap_err().to_string();
        let begin = "the new program cannot be written to /dev/full: No space left on device";
        assert!(error.starts_with(begin) && error.contains("make room"), "{error}");
        assert!(!error.contains("offered"), "{error}");
    }

    #[test]
    fn without_a_key_or_with_a_word_against_it_there_is_no_release() {
        let of = |settings: &UpgradeSettings| key(settings).unwrap_err();
        assert!(matches!(of(&UpgradeSettings::default()), ReleaseError::NoKey));
        let forbidden = UpgradeSettings { allow: false, ..UpgradeSettings::default() };
        assert!(matches!(of(&forbidden), ReleaseError::Forbidden));
    }
}
