//! Signs the audit: follows its rows at some distance, grows the Merkle tree over them, and keeps signed
//! checkpoints. What does not follow from what was signed before is not signed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use orion_audit::merkle::leaf;
use orion_audit::{Checkpoint, Signer, VerifierKey};
use orion_domain::Digest;
use orion_domain::audit::{AuditHead, Break, Verifier};
use orion_mtls::secret_file;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::backend::Backend;
use crate::clock::now_ms;
use crate::store::{Grown, Store, StoreError};

/// The key's file in the data folder.
pub const AUDIT_KEY: &str = "audit.key";

/// How many rows are followed at a time.
const PAGE: u32 = 4_096;
/// After how many rows a checkpoint is due.
const ROWS: u64 = 1_024;
/// After how long one is due when there is anything new.
const EVERY: Duration = Duration::from_mins(1);

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
    grown: Mutex<Option<Grown>>,
    /// Whether it was said already that nothing can be signed.
    is_told: AtomicBool,
}

impl Notary {
    /// Loads the key, or draws one at the first start.
    ///
    /// # Errors
    /// The key cannot be read or kept.
    pub fn prepare(data_dir: &Path) -> anyhow::Result<Self> {
        let path = data_dir.join(AUDIT_KEY);
        if !path.exists() {
            secret_file::write(&path, &Signer::generate()?)?;
        }
        let signer = load(data_dir)?;
        Ok(Self { signer, grown: Mutex::default(), is_told: AtomicBool::new(false) })
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
    pub async fn sign(&self, store: &Store) -> Result<Grown, NotSigned> {
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

    async fn try_sign(&self, store: &Store) -> Result<Grown, NotSigned> {
        let mut kept = self.grown.lock().await;
        let mut grown = match kept.take() {
            Some(grown) => grown,
            None => self.kept(store).await?,
        };
        let before = grown.clone();
        let followed = follow(store, &mut grown).await;
        if let Err(error) = followed {
            *kept = Some(before);
            return Err(error);
        }
        if grown != before {
            let note = Checkpoint::sign(&self.signer, &grown.tree, Vec::new());
            if let Err(error) = store.keep_checkpoint(grown.clone(), note, now_ms()).await {
                *kept = Some(before);
                return Err(error.into());
            }
        }
        *kept = Some(grown.clone());
        Ok(grown)
    }

    /// The tree as it was kept; its last checkpoint says that it is this key's.
    async fn kept(&self, store: &Store) -> Result<Grown, NotSigned> {
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
    async fn size(&self) -> u64 {
        self.grown.lock().await.as_ref().map_or(0, |grown| grown.tree.size())
    }
}

async fn follow(store: &Store, grown: &mut Grown) -> Result<(), NotSigned> {
    let seq = |grown: &Grown| i64::try_from(grown.tree.size()).unwrap_or(i64::MAX);
    let head = store.audit_head().await?;
    let from = AuditHead { seq: seq(grown), hash: grown.hash.unwrap_or(Digest::ZERO) };
    let mut chain = Verifier::after(from);
    while seq(grown) < head.seq {
        let rows = store.audit_export(seq(grown), PAGE).await?;
        if rows.is_empty() {
            break;
        }
        for row in rows.into_iter().take_while(|row| row.seq <= head.seq) {
            chain.next(&row)?;
            grown.tree.push(leaf(&row.canonical()));
            grown.hash = Some(row.hash);
        }
        tokio::task::yield_now().await;
    }
    chain.finish(head)?;
    Ok(())
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

/// The key that verifies what the backend that keeps its data here signs, where it has one.
///
/// # Errors
/// It cannot be read.
pub fn verifier_key(data_dir: &Path) -> anyhow::Result<Option<VerifierKey>> {
    if !data_dir.join(AUDIT_KEY).exists() {
        return Ok(None);
    }
    Ok(Some(load(data_dir)?.key().clone()))
}

/// Signs whenever enough is new, until the backend stops.
pub async fn run(backend: Arc<Backend>) {
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    let mut last = Instant::now();
    loop {
        tokio::select! {
            () = backend.shutdown.cancelled() => return,
            _ = tick.tick() => {}
        }
        backend.fleet.witnesses().flush(&backend.store).await;
        let Ok(head) = backend.store.audit_head().await else { continue };
        let new = u64::try_from(head.seq).unwrap_or_default();
        let new = new.saturating_sub(backend.notary.size().await);
        if new >= ROWS || (new > 0 && last.elapsed() >= EVERY) {
            last = Instant::now();
            // What keeps it from signing was logged.
            backend.notary.sign(&backend.store).await.ok();
        }
    }
}
