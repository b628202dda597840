//! Signs the audit log: reads new rows with some delay, extends the Merkle tree over them, and stores
//! signed checkpoints.
//!
//! Rows that do not follow from the last checkpoint are not signed. The last checkpoint is also kept beside
//! the key, where somebody who can write only the database cannot reach it.

mod files;
mod reset;
mod sign;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::ensure;
use orion_audit::Signer;
use orion_domain::audit::Break;
use tokio::sync::Mutex;

use crate::data_folder::{AUDIT_HEAD, AUDIT_KEY};
use crate::store::{CheckpointRow, SignedTree, Store, StoreError, TrustAnchor};

use files::{draw, head};
pub use files::{held_to, load};
pub use reset::reset_signing;

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

    /// Returns the number of signed rows that this process knows.
    pub(crate) async fn size(&self) -> u64 {
        self.kept.lock().await.signed_tree.as_ref().map_or(0, |signed_tree| signed_tree.tree.size())
    }
}
