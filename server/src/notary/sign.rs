//! Signs new rows of the audit log: follows them from the last checkpoint, and stores the next one.

use anyhow::Context as _;
use orion_audit::Checkpoint;
use orion_audit::merkle::leaf;
use orion_domain::Digest;
use orion_domain::audit::{AuditHead, Verifier};
use orion_mtls::secret_file;

use super::{NotSigned, Notary};
use crate::clock::now_ms;
use crate::data_folder::AUDIT_HEAD;
use crate::store::{SignedTree, Store, TrustAnchor};

/// How many rows are read at a time.
const PAGE: u32 = 4_096;

impl Notary {
    pub(super) async fn try_sign(&self, store: &Store) -> Result<SignedTree, NotSigned> {
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

    /// Returns the stored tree, after its last checkpoint has proved that this key signed it.
    pub(super) async fn kept(&self, store: &Store) -> Result<SignedTree, NotSigned> {
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
