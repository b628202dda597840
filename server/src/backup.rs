//! Backups: a folder with a copy of the database, made while the backend runs, the keys, and a manifest of
//! the files. A restore checks all of it before anything is put in place.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use orion_domain::Digest;
use orion_domain::audit::AuditHead;
use orion_mtls::secret_file;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::clock::now_ms;
use crate::data_folder::{ADDRESSES, AUDIT_HEAD, DATABASE};
use crate::fleet::authority;
use crate::notary::held_to;
use crate::store::{
    AuditVerdict, Health, Store, TrustAnchor, check_file, copy_file, newest_version,
};

/// The version of the format.
const FORMAT: u32 = 1;
/// The file that lists a backup's files.
const MANIFEST: &str = "manifest.json";
/// Left in a restored folder, for the next start of a backend.
const RESTORED: &str = "restored.json";
/// The largest file besides the database, in bytes: keys and certificates.
const MAX_BYTES: u64 = 1024 * 1024;

/// The contents of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of the format.
    pub format: u32,
    /// Unix milliseconds.
    pub made_at: i64,
    /// The version of the program that made the backup.
    pub version: String,
    /// The end of the audit log in the backup.
    pub head: AuditHead,
    /// The files of the backup, without the manifest.
    pub files: Vec<ManifestFile>,
}

/// One file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestFile {
    /// The file's name, without a folder.
    pub name: String,
    /// The size in bytes.
    pub bytes: u64,
    /// SHA-256 of the content.
    pub sha256: Digest,
}

/// Backs up the data folder into a new folder, whether or not a backend runs on it.
///
/// # Errors
/// What is wrong, and what to do; then nothing is left under that name.
pub async fn backup(data_dir: &Path, to: &Path) -> anyhow::Result<Manifest> {
    ensure!(
        data_dir.join(DATABASE).exists(),
        "no backend keeps its data in {}; say which folder with --data-dir",
        data_dir.display()
    );
    ensure!(!to.exists(), "{} is there already; name a folder that is not", to.display());
    let name = to.file_name().context("name the folder that the backup is to be")?;
    let partial = to.with_file_name(format!("{}.partial", name.to_string_lossy()));
    make_private(&partial)?;
    let made = fill(data_dir, &partial).await;
    match made {
        Ok(manifest) => {
            fs::rename(&partial, to).with_context(|| format!("{}", to.display()))?;
            Ok(manifest)
        }
        Err(error) => {
            fs::remove_dir_all(&partial).ok();
            Err(error)
        }
    }
}

async fn fill(data_dir: &Path, partial: &Path) -> anyhow::Result<Manifest> {
    let record = partial.join(DATABASE);
    let mut names = vec![DATABASE.to_owned()];
    // Copied before the database, so that the copy of the database is never behind its last signed
    // checkpoint.
    let head = data_dir.join(AUDIT_HEAD);
    if head.exists() {
        copy(&head, &partial.join(AUDIT_HEAD))?;
        names.push(AUDIT_HEAD.to_owned());
    }
    copy_file(&data_dir.join(DATABASE), &record).await.context("the database cannot be copied")?;
    private(&record)?;
    // Both files of the authorities must be of the same moment.
    let held = authority::hold(data_dir)?;
    for entry in fs::read_dir(data_dir)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = entry.path();
        // A key may lie elsewhere, with a link in its place.
        let is_file = || fs::metadata(&path).with_context(|| format!("{}", path.display()));
        if belongs(&name) && name != AUDIT_HEAD && is_file()?.is_file() {
            copy(&path, &partial.join(&name))?;
            names.push(name);
        }
    }
    drop(held);
    names.sort();
    let held = keys(partial).with_context(|| format!("{} is not whole", data_dir.display()))?;
    let head = good(&check_file(&record, Some(&held)).await?)?;
    let files = names.iter().map(|name| measured(partial, name)).collect::<Result<_, _>>()?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let manifest = Manifest { format: FORMAT, made_at: now_ms(), version, head, files };
    secret_file::write(&partial.join(MANIFEST), &serde_json::to_vec_pretty(&manifest)?)?;
    sync_folder(partial)?;
    Ok(manifest)
}

/// Returns whether a file of the data folder is backed up. Files that each start creates, and one-time
/// secrets, are not.
fn belongs(name: &str) -> bool {
    let transient = name.starts_with(DATABASE)
        || name == ADDRESSES
        || name == RESTORED
        || name == MANIFEST
        || name.ends_with("lock")
        || name.ends_with("-secret");
    // A file that is being written has another name until it is complete.
    !(transient || name.starts_with('.') || name.ends_with(".new") || name.ends_with(".tmp"))
}

/// Restores a backup as a data folder, which must be empty or must not exist.
///
/// # Errors
/// What is wrong with the backup or the folder; then nothing was put in place.
pub async fn restore(from: &Path, data_dir: &Path) -> anyhow::Result<Manifest> {
    let manifest = read_manifest(from)?;
    if data_dir.exists() {
        let is_empty = fs::read_dir(data_dir)?.next().is_none();
        ensure!(is_empty, "{} is not empty; name a new folder", data_dir.display());
    } else {
        make_private(data_dir)?;
    }
    let staged = data_dir.join(".restoring");
    make_private(&staged)?;
    let put = stage(from, &staged, &manifest).await.and_then(|()| {
        // The database comes last: a folder without it is not a backend's.
        let names = manifest.files.iter().map(|file| &file.name);
        let (last, first): (Vec<_>, Vec<_>) = names.partition(|name| *name == DATABASE);
        let text = serde_json::to_vec(&manifest)?;
        secret_file::write(&data_dir.join(RESTORED), &text)?;
        for name in first.into_iter().chain(last) {
            fs::rename(staged.join(name), data_dir.join(name))?;
        }
        sync_folder(data_dir)?;
        Ok(())
    });
    fs::remove_dir_all(&staged).ok();
    put.map(|()| manifest)
}

async fn stage(from: &Path, staged: &Path, manifest: &Manifest) -> anyhow::Result<()> {
    for file in &manifest.files {
        let (source, target) = (from.join(&file.name), staged.join(&file.name));
        fs::copy(&source, &target).with_context(|| format!("{}", source.display()))?;
        private(&target)?;
        ensure!(
            measured(staged, &file.name)? == *file,
            "{} is not what the manifest says; the backup was changed or damaged",
            source.display()
        );
    }
    let held = keys(staged).context("the backup is not whole")?;
    let health = check_file(&staged.join(DATABASE), Some(&held)).await?;
    ensure!(
        health.version <= newest_version(),
        "the backup was made by a newer orion-server ({}); restore it with that one",
        manifest.version
    );
    ensure!(good(&health)? == manifest.head, "the audit ends elsewhere than the manifest says");
    Ok(())
}

fn read_manifest(from: &Path) -> anyhow::Result<Manifest> {
    let path = from.join(MANIFEST);
    let mut text = String::new();
    File::open(&path)
        .and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text))
        .with_context(|| format!("{} is no backup: {}", from.display(), path.display()))?;
    let manifest: Manifest =
        serde_json::from_str(&text).with_context(|| format!("{}", path.display()))?;
    ensure!(manifest.format == FORMAT, "the backup has a form that this version does not know");
    for ManifestFile { name, .. } in &manifest.files {
        let is_name = Path::new(name).file_name().is_some_and(|own| own == name.as_str());
        ensure!(is_name && (name == DATABASE || belongs(name)), "{name:?} belongs to no backup");
    }
    let has_record = manifest.files.iter().any(|file| file.name == DATABASE);
    ensure!(has_record, "the database is missing from the manifest");
    Ok(manifest)
}

/// Returns what the database is verified against. The authorities and the audit key must be complete: a
/// backend cannot start without them.
fn keys(folder: &Path) -> anyhow::Result<TrustAnchor> {
    authority::read(folder)?;
    held_to(folder)?.context("audit.key is missing; start the backend once before")
}

/// Returns the end of the audit log of a database without damage.
fn good(health: &Health) -> anyhow::Result<AuditHead> {
    match &health.audit {
        AuditVerdict::Whole { head, .. } if health.is_good() => Ok(*head),
        AuditVerdict::Whole { .. } => {
            let found = [&health.damage[..], &health.dangling[..]].concat();
            bail!("the database is damaged: {}", found.join("; "))
        }
        AuditVerdict::Broken { broken, .. } => bail!("the audit is broken: {broken}"),
    }
}

/// Checks the whole database of a data folder.
///
/// # Errors
/// The database cannot be read at all.
pub async fn check(data_dir: &Path) -> anyhow::Result<Health> {
    let held = held_to(data_dir)?;
    check_file(&data_dir.join(DATABASE), held.as_ref()).await.context("the database cannot be read")
}

/// Records in the audit log that this folder was restored, at the first start after it.
///
/// # Errors
/// The database cannot be written.
pub async fn record_restore(store: &Store, data_dir: &Path) -> anyhow::Result<()> {
    let path = data_dir.join(RESTORED);
    let manifest: Manifest = match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text).with_context(|| format!("{}", path.display()))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("{}", path.display())),
    };
    tracing::warn!(
        made_at = manifest.made_at,
        rows = manifest.head.seq,
        "this record was restored from a backup; devices may know of more than it does"
    );
    #[derive(Serialize)]
    struct Restored {
        made_at: i64,
        head: AuditHead,
    }
    let body = Restored { made_at: manifest.made_at, head: manifest.head };
    store.audit_event("server.restored", body, now_ms()).await?;
    fs::remove_file(&path)?;
    Ok(())
}

fn measured(folder: &Path, name: &str) -> anyhow::Result<ManifestFile> {
    let path = folder.join(name);
    let mut file = File::open(&path).with_context(|| format!("{}", path.display()))?;
    let mut hasher = Sha256::new();
    let mut part = vec![0; 1024 * 1024];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut part)?;
        if read == 0 {
            break;
        }
        hasher.update(part.get(..read).unwrap_or_default());
        bytes += read as u64;
    }
    let sha256 = Digest::from_slice(&hasher.finalize()).context("SHA-256 has 32 bytes")?;
    Ok(ManifestFile { name: name.to_owned(), bytes, sha256 })
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    File::open(from)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    ensure!(
        bytes.len() as u64 <= MAX_BYTES,
        "{} is larger than anything that a backend keeps; move it out of the data folder",
        from.display()
    );
    Ok(secret_file::write(to, &bytes)?)
}

fn private(path: &Path) -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    File::open(path)?.sync_all()?;
    Ok(())
}

fn make_private(path: &Path) -> anyhow::Result<PathBuf> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).with_context(|| format!("{} cannot be made", path.display()))?;
    Ok(path.to_owned())
}

#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Authority;
    use crate::notary::Notary;

    /// Returns a data folder as a first start leaves it.
    async fn started() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        make_private(&data).unwrap();
        let store = Store::open(&data.join(DATABASE)).await.unwrap();
        drop(Authority::open(&data, now_ms()).unwrap());
        drop(Notary::prepare(&data, &store).await.unwrap());
        drop(store);
        folder
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn keys_that_lie_elsewhere_are_in_the_backup_and_come_back_as_files() {
        let folder = started().await;
        let [data, secrets, to, new] =
            ["data", "secrets", "backup", "new"].map(|name| folder.path().join(name));
        make_private(&secrets).unwrap();
        for name in ["ca.key", "audit.key"] {
            fs::rename(data.join(name), secrets.join(name)).unwrap();
            std::os::unix::fs::symlink(secrets.join(name), data.join(name)).unwrap();
        }
        let made = backup(&data, &to).await.unwrap();
        let names: Vec<_> = made.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["audit.key", "ca.key", "ca.pem", DATABASE]);
        restore(&to, &new).await.unwrap();
        assert!(fs::symlink_metadata(new.join("ca.key")).unwrap().is_file());
        assert!(Authority::take_up(&new, now_ms()).is_ok());
    }

    #[tokio::test]
    async fn without_whole_keys_there_is_no_backup_and_no_restore() {
        let folder = started().await;
        let [data, to, new] = ["data", "backup", "new"].map(|name| folder.path().join(name));
        let refused = async |change: &dyn Fn()| {
            change();
            let error = backup(&data, &to).await.unwrap_err();
            assert!(!to.exists(), "{error:#}");
            format!("{error:#}")
        };
        let key = fs::read(data.join("ca.key")).unwrap();
        // The keys are of another moment than the certificates.
        let other = started().await;
        let foreign = fs::read(other.path().join("data").join("ca.key")).unwrap();
        let said = refused(&|| fs::write(data.join("ca.key"), &foreign).unwrap()).await;
        assert!(said.contains("ca.key and ca.pem cannot be used"), "{said}");
        fs::write(data.join("ca.key"), &key).unwrap();
        let audit = fs::read(data.join("audit.key")).unwrap();
        let said = refused(&|| fs::remove_file(data.join("audit.key")).unwrap()).await;
        assert!(said.contains("audit.key is missing"), "{said}");
        secret_file::write(&data.join("audit.key"), &audit).unwrap();

        let mut manifest = backup(&data, &to).await.unwrap();
        manifest.files.retain(|file| file.name != "ca.key");
        fs::write(to.join(MANIFEST), serde_json::to_vec(&manifest).unwrap()).unwrap();
        let error = format!("{:#}", restore(&to, &new).await.unwrap_err());
        assert!(error.contains("there is no authority"), "{error}");
        assert_eq!(fs::read_dir(&new).unwrap().count(), 0);
    }
}
