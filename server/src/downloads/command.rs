//! `orion-server releases`: adds, lists and removes the agents that devices download. A running backend serves a change
//! at once.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use minisign_verify::{PublicKey, Signature};
use orion_domain::{Digest, Hasher};

use super::platform::HEADER_BYTES;
use super::{Manifest, Platform, Release, ReleaseError, folder};
use crate::config::Config;

/// How much of a file is read at once.
const CHUNK_BYTES: usize = 256 * 1024;
/// The largest signature.
const MAX_SIGNATURE_BYTES: u64 = 4096;
/// The longest version.
const MAX_VERSION_BYTES: usize = 64;

/// What is to be done with the agents.
#[derive(Debug, Subcommand)]
pub enum ReleasesCommand {
    /// Adds an agent, in the place of the one for the same platform. The program itself says which platform it is for.
    Add {
        /// The program, such as target/dist/orion-agent.
        file: PathBuf,
        /// Its version; the backend's own if nothing is said.
        #[arg(long, default_value = env!("CARGO_PKG_VERSION"))]
        version: String,
        /// Its signature by minisign, which `public_key` in [downloads] verifies.
        #[arg(long, value_name = "FILE")]
        signature: Option<PathBuf>,
    },
    /// Lists the agents, with version, size and SHA-256.
    List,
    /// Removes the agent of a platform.
    Remove {
        /// Such as linux-x86_64.
        platform: Platform,
    },
}

/// Runs the command and returns the text to print. `config` is None where no file of the backend was named.
///
/// # Errors
/// [`ReleaseError`]; then the agents are as they were.
pub fn run(
    command: ReleasesCommand,
    config: Option<&Config>,
    data_dir: &Path,
) -> Result<String, ReleaseError> {
    let defaults = Config::default();
    let is_known = config.is_some();
    let config = config.unwrap_or(&defaults);
    let folder = folder(config, data_dir);
    let key = config.downloads.public_key.as_deref();
    let key = key.and_then(|key| PublicKey::from_base64(key).ok());
    match command {
        ReleasesCommand::List => {
            let manifest = Manifest::read(&folder)?;
            Ok(list(&manifest) + note(&manifest, key.as_ref(), is_known))
        }
        ReleasesCommand::Add { file, version, signature } => {
            let _lock = lock(&folder)?;
            let signature = signature.as_deref().map(read_signature).transpose()?;
            let manifest = add(&folder, &file, version, signature, key.as_ref())?;
            Ok(list(&manifest) + note(&manifest, key.as_ref(), is_known))
        }
        ReleasesCommand::Remove { platform } => {
            let _lock = lock(&folder)?;
            let mut manifest = Manifest::read(&folder)?;
            let removed = manifest.remove(platform).ok_or(ReleaseError::NoSuch(platform))?;
            manifest.write(&folder)?;
            forget(&folder, &manifest, &removed);
            Ok(format!("The agent for {platform} is not served any more.\n"))
        }
    }
}

/// Makes the folder, and keeps another command out while the file is open.
fn lock(folder: &Path) -> Result<File, ReleaseError> {
    let path = folder.join("lock");
    let open = || {
        fs::create_dir_all(folder)?;
        let file = File::options().write(true).create(true).truncate(false).open(&path)?;
        file.lock()?;
        Ok(file)
    };
    open().map_err(ReleaseError::at(&path))
}

/// A signature with the file that it was read from.
struct Signed {
    path: PathBuf,
    text: String,
}

fn read_signature(path: &Path) -> Result<Signed, ReleaseError> {
    let read = File::open(path).and_then(|file| io::read_to_string(file.take(MAX_SIGNATURE_BYTES)));
    let text = read.map_err(ReleaseError::at(path))?;
    Ok(Signed { path: path.to_owned(), text })
}

fn add(
    folder: &Path,
    file: &Path,
    version: String,
    signature: Option<Signed>,
    key: Option<&PublicKey>,
) -> Result<Manifest, ReleaseError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
    if version.is_empty() || version.len() > MAX_VERSION_BYTES || !version.chars().all(is_plain) {
        return Err(ReleaseError::Version(version));
    }
    match (&signature, key) {
        (None, Some(_)) => return Err(ReleaseError::NotSigned { path: file.to_owned() }),
        (Some(_), None) => return Err(ReleaseError::NoKey),
        (None, None) | (Some(_), Some(_)) => {}
    }
    let new = folder.join("new");
    let copied = copy(file, &new, signature.as_ref().zip(key));
    let (platform, sha256, size_bytes) = match copied {
        Ok(copied) => copied,
        Err(error) => {
            // The error that matters is the first one.
            fs::remove_file(&new).ok();
            return Err(error);
        }
    };
    let signature = signature.map(|it| it.text);
    let release = Release { version, sha256, size_bytes, signature };
    let path = folder.join(release.file_name());
    fs::rename(&new, &path).map_err(ReleaseError::at(&path))?;
    let mut manifest = Manifest::read(folder)?;
    let replaced = manifest.insert(platform, release);
    manifest.write(folder)?;
    if let Some(replaced) = replaced {
        forget(folder, &manifest, &replaced);
    }
    Ok(manifest)
}

/// Copies a program, and returns what it is. What is checked is what was copied.
fn copy(
    from: &Path,
    to: &Path,
    signed: Option<(&Signed, &PublicKey)>,
) -> Result<(Platform, Digest, u64), ReleaseError> {
    let failed = |(signed, why): (&Signed, minisign_verify::Error)| ReleaseError::Signature {
        path: signed.path.clone(),
        why: why.to_string(),
    };
    let decoded = signed
        .map(|(signed, key)| {
            let decoded = Signature::decode(&signed.text).map_err(|why| failed((signed, why)))?;
            Ok::<_, ReleaseError>((signed, key, decoded))
        })
        .transpose()?;
    let mut verifier = match &decoded {
        Some((signed, key, signature)) => {
            let verifier = key.verify_stream(signature).map_err(|why| failed((*signed, why)))?;
            Some((*signed, verifier))
        }
        None => None,
    };
    let mut source = File::open(from).map_err(ReleaseError::at(from))?;
    let mut target = File::create(to).map_err(ReleaseError::at(to))?;
    let (mut header, mut hash, mut size) = (Vec::new(), Hasher::default(), 0_u64);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = source.read(&mut chunk).map_err(ReleaseError::at(from))?;
        let part = chunk.get(..read).unwrap_or_default();
        if part.is_empty() {
            break;
        }
        header.extend(part.iter().take(HEADER_BYTES.saturating_sub(header.len())));
        hash.update(part);
        if let Some((_, verifier)) = &mut verifier {
            verifier.update(part);
        }
        target.write_all(part).map_err(ReleaseError::at(to))?;
        size = size.saturating_add(read as u64);
    }
    target.sync_all().map_err(ReleaseError::at(to))?;
    let platform = Platform::of_program(&header);
    let platform = platform.ok_or_else(|| ReleaseError::NoProgram { path: from.to_owned() })?;
    if let Some((signed, mut verifier)) = verifier {
        verifier.finalize().map_err(|why| failed((signed, why)))?;
    }
    Ok((platform, hash.finish(), size))
}

/// Removes the file of an agent that no platform has any more. A download under way goes on.
fn forget(folder: &Path, manifest: &Manifest, release: &Release) {
    if manifest.iter().all(|(_, kept)| kept.sha256 != release.sha256) {
        // A file that stays is not served.
        fs::remove_file(folder.join(release.file_name())).ok();
    }
}

fn list(manifest: &Manifest) -> String {
    if manifest.is_empty() {
        return "No agents are served; add one with: orion-server releases add FILE\n".to_owned();
    }
    let line = |(platform, it): (Platform, &Release)| {
        let signed = if it.signature.is_some() { "signed" } else { "not signed" };
        format!(
            "{:<15} {:<10} {:>11} bytes  {signed:<10}  {}\n",
            platform.as_str(),
            it.version,
            it.size_bytes,
            it.sha256
        )
    };
    manifest.iter().map(line).collect()
}

/// Returns which of the agents the backend does not serve, as far as that is known.
fn note(manifest: &Manifest, key: Option<&PublicKey>, is_known: bool) -> &'static str {
    let is_unsigned = manifest.iter().any(|(_, it)| it.signature.is_none());
    match (is_unsigned, key) {
        (true, Some(_)) => {
            "Agents that are not signed are not served, because [downloads] has a `public_key`; add them again with --signature.\n"
        }
        (true, None) if !is_known => {
            "No configuration was read. A backend with `public_key` in [downloads] does not serve agents that are not signed; name its file with --config.\n"
        }
        (true, None) | (false, _) => "",
    }
}

#[cfg(test)]
mod tests;
