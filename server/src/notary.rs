//! Signs the audit log: reads new rows with some delay, extends the Merkle tree over them, and stores
//! signed checkpoints.
//!
//! Rows that do not follow from the last checkpoint are not signed. The last checkpoint is also kept beside
//! the key, where somebody who can write only the database cannot reach it.

mod reset;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, ensure};
use orion_audit::merkle::leaf;
use orion_audit::{Checkpoint, Signer};
use orion_domain::Digest;
use orion_domain::audit::{AuditHead, Break, Verifier};
use orion_mtls::secret_file;
use tokio::sync::Mutex;

use crate::clock::now_ms;
use crate::data_folder::{AUDIT_HEAD, AUDIT_KEY};
use crate::store::{CheckpointRow, SignedTree, Store, StoreError, TrustAnchor};

pub use reset::reset_signing;

/// How many rows are read at a time.
const PAGE: u32 = 4_096;

/// Why nothing was signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSigned {
    /// The rows do not follow from the last checkpoint.
    #[error("{0}")]
    Broken(#[from] Break),
    /// The stored tree is not the one that its checkpoint signs.
    #[error(
        "the kept checkpoint does not fit the kept tree; the database was changed from outside"
    )]
    Checkpoint,
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The signer of the audit log.
#[derive(Debug)]
pub struct Notary {
    signer: Signer,
    data_dir: PathBuf,
    kept: Mutex<SignedState>,
    /// Whether the log already says that the audit log cannot be signed.
    is_logged: AtomicBool,
}

/// What was signed.
#[derive(Debug, Default)]
struct SignedState {
    /// The tree up to the last row that was read. None before the first read.
    signed_tree: Option<SignedTree>,
    /// The checkpoint that was beside the key at the start. None once the rows were read up to it.
    held: Option<CheckpointRow>,
    /// The number of rows of the last checkpoint beside the key.
    beside: Option<i64>,
}

impl Notary {
    /// Loads the key, or creates one at the first start.
    ///
    /// # Errors
    /// The key cannot be read or written, or it is missing and the database was signed with it.
    pub async fn prepare(data_dir: &Path, store: &Store) -> anyhow::Result<Self> {
        let path = data_dir.join(AUDIT_KEY);
        if !path.exists() {
            let is_signed =
                data_dir.join(AUDIT_HEAD).exists() || !store.checkpoints(0, 1).await?.is_empty();
            ensure!(
                !is_signed,
                "{} is missing, and the database was signed with it: put it back from a backup; where it is lost for good, `orion-server audit reset-signing` draws another and says so in the audit",
                path.display()
            );
            draw(data_dir)?;
        }
        let signer = load(data_dir)?;
        let held = head(data_dir)?;
        let beside = held.as_ref().map(|head| head.size);
        let kept = Mutex::new(SignedState { signed_tree: None, held, beside });
        Ok(Self { signer, data_dir: data_dir.to_owned(), kept, is_logged: AtomicBool::new(false) })
    }

    /// Returns what the database is verified against. Call it before reading the database.
    ///
    /// # Errors
    /// The last checkpoint cannot be read.
    pub fn held_to(&self) -> anyhow::Result<TrustAnchor> {
        Ok(TrustAnchor { key: self.signer.key().clone(), head: head(&self.data_dir)? })
    }

    /// Returns the key that signs.
    #[must_use]
    pub const fn signer(&self) -> &Signer {
        &self.signer
    }

    /// Reads the rows up to the stored head and signs if there are unsigned rows. Returns the signed tree.
    ///
    /// # Errors
    /// [`NotSigned`].
    pub async fn sign(&self, store: &Store) -> Result<SignedTree, NotSigned> {
        let signed = self.try_sign(store).await;
        match &signed {
            Err(error @ (NotSigned::Broken(_) | NotSigned::Checkpoint))
                if !self.is_logged.swap(true, Ordering::Relaxed) =>
            {
                tracing::error!(%error, "the audit is not signed any more: run `orion audit verify`");
            }
            Ok(_) | Err(_) => {}
        }
        signed
    }

    async fn try_sign(&self, store: &Store) -> Result<SignedTree, NotSigned> {
        let mut kept = self.kept.lock().await;
        let held = TrustAnchor { key: self.signer.key().clone(), head: kept.held.clone() };
        if let Some(head) = &held.head {
            Checkpoint::open(&held.key, &head.note).map_err(|_| NotSigned::Checkpoint)?;
        }
        let before = match kept.signed_tree.take() {
            Some(signed_tree) => signed_tree,
            None => self.kept(store).await?,
        };
        kept.signed_tree = Some(before.clone());
        let mut signed_tree = before.clone();
        follow(store, &mut signed_tree, &held).await?;
        if signed_tree != before {
            let note = Checkpoint::sign(&self.signer, &signed_tree.tree, Vec::new());
            store.keep_checkpoint(signed_tree.clone(), note, now_ms()).await?;
        }
        kept.signed_tree = Some(signed_tree.clone());
        kept.held = None;
        let size = signed_tree.head().seq;
        if size > 0 && kept.beside != Some(size) {
            kept.beside = self.keep_beside(store, size).await.then_some(size);
        }
        Ok(signed_tree)
    }

    /// Writes the checkpoint over `size` rows beside the key, after the database has synced it.
    async fn keep_beside(&self, store: &Store, size: i64) -> bool {
        let written = async {
            let notes = store.checkpoints(size - 1, 1).await?;
            let note = notes.into_iter().find(|row| row.size == size).context("it is not there")?;
            let path = self.data_dir.join(AUDIT_HEAD);
            let write = move || secret_file::write(&path, note.note.as_bytes());
            tokio::task::spawn_blocking(write).await??;
            anyhow::Ok(())
        };
        match written.await {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(%error, "the last checkpoint could not be kept in audit.head; it is tried again");
                false
            }
        }
    }

    /// Returns the stored tree, after its last checkpoint has proved that this key signed it.
    async fn kept(&self, store: &Store) -> Result<SignedTree, NotSigned> {
        let signed_tree = store.audit_tree().await?;
        if signed_tree.hash.is_none() {
            return Ok(signed_tree);
        }
        let size = i64::try_from(signed_tree.tree.size()).map_err(|_| NotSigned::Checkpoint)?;
        let notes = store.checkpoints(size - 1, 1).await?;
        let note = notes.first().filter(|row| row.size == size).ok_or(NotSigned::Checkpoint)?;
        orion_audit::verify::check(self.signer.key(), &note.note, &signed_tree.tree)
            .map_err(|_| NotSigned::Checkpoint)?;
        Ok(signed_tree)
    }

    /// Returns the number of signed rows that this process knows.
    pub(crate) async fn size(&self) -> u64 {
        self.kept.lock().await.signed_tree.as_ref().map_or(0, |signed_tree| signed_tree.tree.size())
    }
}

async fn follow(
    store: &Store,
    signed_tree: &mut SignedTree,
    held: &TrustAnchor,
) -> Result<(), NotSigned> {
    let seq = |signed_tree: &SignedTree| i64::try_from(signed_tree.tree.size()).unwrap_or(i64::MAX);
    let head = store.audit_head().await?;
    let from = AuditHead { seq: seq(signed_tree), hash: signed_tree.hash.unwrap_or(Digest::ZERO) };
    let mut chain = Verifier::after(from);
    held.reached(&signed_tree.tree)?;
    while seq(signed_tree) < head.seq {
        let rows = store.audit_export(seq(signed_tree), PAGE).await?;
        if rows.is_empty() {
            break;
        }
        for row in rows.into_iter().take_while(|row| row.seq <= head.seq) {
            chain.next(&row)?;
            signed_tree.tree.push(leaf(&row.canonical()));
            signed_tree.hash = Some(row.hash);
            held.reached(&signed_tree.tree)?;
        }
        tokio::task::yield_now().await;
    }
    chain.finish(head)?;
    Ok(held.finish(seq(signed_tree))?)
}

/// Creates a key and writes it.
fn draw(data_dir: &Path) -> anyhow::Result<()> {
    Ok(secret_file::write(&data_dir.join(AUDIT_KEY), &Signer::generate()?)?)
}

/// Reads the last checkpoint from the file beside the key.
fn head(data_dir: &Path) -> anyhow::Result<Option<CheckpointRow>> {
    let path = data_dir.join(AUDIT_HEAD);
    if !path.exists() {
        return Ok(None);
    }
    let note = String::from_utf8_lossy(secret_file::read(&path)?.expose()).into_owned();
    // The signature is checked when the rows have reached this size. A file that is no note is checked at
    // the first row.
    let size = note.lines().nth(1).and_then(|line| line.parse().ok()).filter(|size| *size > 0);
    Ok(Some(CheckpointRow { size: size.unwrap_or(1), note }))
}

/// Reads the key of the backend with this data folder.
///
/// # Errors
/// The key does not exist or cannot be read.
pub fn load(data_dir: &Path) -> anyhow::Result<Signer> {
    let path = data_dir.join(AUDIT_KEY);
    let bytes = secret_file::read(&path)?;
    Signer::from_pkcs8(bytes.expose())
        .with_context(|| format!("{} holds no key; restore it from a backup", path.display()))
}

/// Returns what the database in this data folder is verified against. None if there is no key. Call it
/// before reading the database.
///
/// # Errors
/// The key or the last checkpoint cannot be read.
pub fn held_to(data_dir: &Path) -> anyhow::Result<Option<TrustAnchor>> {
    if !data_dir.join(AUDIT_KEY).exists() {
        return Ok(None);
    }
    Ok(Some(TrustAnchor { key: load(data_dir)?.key().clone(), head: head(data_dir)? }))
}
