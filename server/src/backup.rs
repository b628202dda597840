//! Backups: a folder with a copy of the database, made while the backend runs, the keys, and a manifest of
//! the files. A restore checks all of it before anything is put in place.

mod files;
mod manifest;
mod restore;
mod verify;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use orion_mtls::secret_file;

use crate::clock::now_ms;
use crate::data_folder::{AUDIT_HEAD, DATABASE};
use crate::fleet::authority;
use crate::store::{check_file, copy_file};

use files::{copy, make_private, private, sync_folder};
use manifest::{FORMAT, MANIFEST, belongs, measured};
pub use manifest::{Manifest, ManifestFile};
pub use restore::{record_restore, restore};
pub use verify::check;
use verify::{good, keys};

/// Backs up the data folder into a new folder, whether or not a backend runs on it.
///
/// # Errors
/// What is wrong, and what to do; then nothing is left under that name.
pub async fn backup(data_dir: &Path, to: &Path) -> anyhow::Result<Manifest> {
    ensure!(
        data_dir.join(DATABASE).exists(),
        "no backend keeps its data in {}; name the right folder with --data-dir",
        data_dir.display()
    );
    ensure!(
        !to.exists(),
        "{} is there already; name a folder that does not exist yet",
        to.display()
    );
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Authority;
    use crate::notary::Notary;
    use crate::store::Store;

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
