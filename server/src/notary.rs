//! Signs the audit: follows its rows at some distance, grows the Merkle tree over them, and keeps signed
//! checkpoints. What does not follow from what was signed before is not signed: the last checkpoint is also
//! kept beside the key, where who can write the record alone cannot reach it.

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

/// How many rows are followed at a time.
const PAGE: u32 = 4_096;

/// Why nothing was signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSigned {
    /// The rows do not follow from what was signed before.
    #[error("{0}")]
    Broken(#[from] Break),
    /// The tree that was kept is not what its checkpoint says.
    #[error("the kept checkpoint does not fit the kept tree; the record was changed from outside")]
    Checkpoint,
    /// The record does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// See the module.
#[derive(Debug)]
pub struct Notary {
    signer: Signer,
    data_dir: PathBuf,
    kept: Mutex<SignedState>,
    /// Whether it was said already that nothing can be signed.
    is_told: AtomicBool,
}

/// What was signed.
#[derive(Debug, Default)]
struct SignedState {
    /// How far the record was followed; none before the first time.
    grown: Option<SignedTree>,
    /// What lay beside the key at the start, until the record was once followed up to it.
    held: Option<CheckpointRow>,
    /// About how many rows the last checkpoint is that lies beside the key.
    beside: Option<i64>,
}

impl Notary {
    /// Loads the key, or draws one at the first start.
    ///
    /// # Errors
    /// The key cannot be read or kept, or it is gone and the record was signed with it.
    pub async fn prepare(data_dir: &Path, store: &Store) -> anyhow::Result<Self> {
        let path = data_dir.join(AUDIT_KEY);
        if !path.exists() {
            let is_signed =
                data_dir.join(AUDIT_HEAD).exists() || !store.checkpoints(0, 1).await?.is_empty();
            ensure!(
                !is_signed,
                "{} is missing, and the record was signed with it: put it back from a backup; where it is lost for good, `orion-server audit sign-anew` draws another and says so in the audit",
                path.display()
            );
            draw(data_dir)?;
        }
        let signer = load(data_dir)?;
        let held = head(data_dir)?;
        let beside = held.as_ref().map(|head| head.size);
        let kept = Mutex::new(SignedState { grown: None, held, beside });
        Ok(Self { signer, data_dir: data_dir.to_owned(), kept, is_told: AtomicBool::new(false) })
    }

    /// What the record is held to at this moment; to be asked for before the record is looked at.
    ///
    /// # Errors
    /// The last checkpoint cannot be read.
    pub fn held_to(&self) -> anyhow::Result<TrustAnchor> {
        Ok(TrustAnchor { key: self.signer.key().clone(), head: head(&self.data_dir)? })
    }

    /// The key that signs.
    #[must_use]
    pub const fn signer(&self) -> &Signer {
        &self.signer
    }

    /// Follows the rows to the recorded head and signs, where there are rows that were not signed.
    /// Gives what is signed.
    ///
    /// # Errors
    /// [`NotSigned`].
    pub async fn sign(&self, store: &Store) -> Result<SignedTree, NotSigned> {
        let signed = self.try_sign(store).await;
        match &signed {
            Err(error @ (NotSigned::Broken(_) | NotSigned::Checkpoint))
                if !self.is_told.swap(true, Ordering::Relaxed) =>
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
        let before = match kept.grown.take() {
            Some(grown) => grown,
            None => self.kept(store).await?,
        };
        kept.grown = Some(before.clone());
        let mut grown = before.clone();
        follow(store, &mut grown, &held).await?;
        if grown != before {
            let note = Checkpoint::sign(&self.signer, &grown.tree, Vec::new());
            store.keep_checkpoint(grown.clone(), note, now_ms()).await?;
        }
        kept.grown = Some(grown.clone());
        kept.held = None;
        let size = grown.head().seq;
        if size > 0 && kept.beside != Some(size) {
            kept.beside = self.keep_beside(store, size).await.then_some(size);
        }
        Ok(grown)
    }

    /// Keeps the checkpoint over so many rows beside the key, now that no power cut takes it back.
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

    /// The tree as it was kept; its last checkpoint says that it is this key's.
    async fn kept(&self, store: &Store) -> Result<SignedTree, NotSigned> {
        let grown = store.audit_tree().await?;
        if grown.hash.is_none() {
            return Ok(grown);
        }
        let size = i64::try_from(grown.tree.size()).map_err(|_| NotSigned::Checkpoint)?;
        let notes = store.checkpoints(size - 1, 1).await?;
        let note = notes.first().filter(|row| row.size == size).ok_or(NotSigned::Checkpoint)?;
        orion_audit::verify::check(self.signer.key(), &note.note, &grown.tree)
            .map_err(|_| NotSigned::Checkpoint)?;
        Ok(grown)
    }

    /// How many rows are signed, as far as this process knows.
    pub(crate) async fn size(&self) -> u64 {
        self.kept.lock().await.grown.as_ref().map_or(0, |grown| grown.tree.size())
    }
}

async fn follow(
    store: &Store,
    grown: &mut SignedTree,
    held: &TrustAnchor,
) -> Result<(), NotSigned> {
    let seq = |grown: &SignedTree| i64::try_from(grown.tree.size()).unwrap_or(i64::MAX);
    let head = store.audit_head().await?;
    let from = AuditHead { seq: seq(grown), hash: grown.hash.unwrap_or(Digest::ZERO) };
    let mut chain = Verifier::after(from);
    held.reached(&grown.tree)?;
    while seq(grown) < head.seq {
        let rows = store.audit_export(seq(grown), PAGE).await?;
        if rows.is_empty() {
            break;
        }
        for row in rows.into_iter().take_while(|row| row.seq <= head.seq) {
            chain.next(&row)?;
            grown.tree.push(leaf(&row.canonical()));
            grown.hash = Some(row.hash);
            held.reached(&grown.tree)?;
        }
        tokio::task::yield_now().await;
    }
    chain.finish(head)?;
    Ok(held.finish(seq(grown))?)
}

/// Draws a key and keeps it.
fn draw(data_dir: &Path) -> anyhow::Result<()> {
    Ok(secret_file::write(&data_dir.join(AUDIT_KEY), &Signer::generate()?)?)
}

/// The last checkpoint that was signed, as it lies beside the key.
fn head(data_dir: &Path) -> anyhow::Result<Option<CheckpointRow>> {
    let path = data_dir.join(AUDIT_HEAD);
    if !path.exists() {
        return Ok(None);
    }
    let note = String::from_utf8_lossy(secret_file::read(&path)?.expose()).into_owned();
    // Whether it was signed, and of what, is checked when the record has come there; of what is no note, at its
    // first row.
    let size = note.lines().nth(1).and_then(|line| line.parse().ok()).filter(|size| *size > 0);
    Ok(Some(CheckpointRow { size: size.unwrap_or(1), note }))
}

/// Reads the key of the backend that keeps its data here.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn load(data_dir: &Path) -> anyhow::Result<Signer> {
    let path = data_dir.join(AUDIT_KEY);
    let bytes = secret_file::read(&path)?;
    Signer::from_pkcs8(bytes.expose())
        .with_context(|| format!("{} holds no key; restore it from a backup", path.display()))
}

/// What the record of the backend that keeps its data here is held to, where it has a key. To be asked for
/// before the record is looked at.
///
/// # Errors
/// The key or the last checkpoint cannot be read.
pub fn held_to(data_dir: &Path) -> anyhow::Result<Option<TrustAnchor>> {
    if !data_dir.join(AUDIT_KEY).exists() {
        return Ok(None);
    }
    Ok(Some(TrustAnchor { key: load(data_dir)?.key().clone(), head: head(data_dir)? }))
}
