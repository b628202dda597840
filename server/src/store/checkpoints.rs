//! The signed part of the audit log: the tree and its checkpoints. `notary` signs and verifies them.

use orion_audit::merkle::Tree;
use orion_domain::Digest;
use orion_domain::audit::AuditHead;
use serde::Serialize;

use super::db::{AuditEvent, DecodeError, Durability, FromRow, Row, sql, values};
use super::{Store, StoreError};

/// How many checkpoints are kept. Beyond the limit, every second one of the older half is dropped: later
/// checkpoints cover the older rows as well.
const MAX_CHECKPOINTS: i64 = 2_048;

/// The tree over the signed rows of the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignedTree {
    /// The tree.
    pub tree: Tree,
    /// The hash of its last row. None for an empty tree.
    pub hash: Option<Digest>,
}

impl SignedTree {
    /// Returns the head of the chain at the tree's last row.
    #[must_use]
    pub fn head(&self) -> AuditHead {
        let seq = i64::try_from(self.tree.size()).unwrap_or(i64::MAX);
        AuditHead { seq, hash: self.hash.unwrap_or(Digest::ZERO) }
    }
}

/// A signed checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointRow {
    /// The number of signed rows.
    pub size: i64,
    /// The signed note.
    pub note: String,
}

impl FromRow for CheckpointRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self { size: row.get("size")?, note: row.get("note")? })
    }
}

#[derive(Serialize)]
struct SigningResetEvent<'a> {
    reason: &'a str,
    /// The last signed checkpoint, as it was kept beside the key.
    last_checkpoint: Option<&'a str>,
    dropped_checkpoints: u64,
}

impl Store {
    /// Returns the tree of the last checkpoint. Empty before the first one.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn audit_tree(&self) -> Result<SignedTree, StoreError> {
        let row: Option<(i64, Vec<u8>, Vec<u8>)> =
            self.db().query_optional(sql("SELECT size, hash, peaks FROM audit_tree")).await?;
        let Some((size, hash, peaks)) = row else { return Ok(SignedTree::default()) };
        let size = u64::try_from(size).map_err(|_| StoreError::Corrupt)?;
        let tree = Tree::from_bytes(size, &peaks).ok_or(StoreError::Corrupt)?;
        let hash = Digest::from_slice(&hash).ok_or(StoreError::Corrupt)?;
        Ok(SignedTree { tree, hash: Some(hash) })
    }

    /// Stores a checkpoint together with its tree. After that, no power cut takes back what was signed, so
    /// it may be shown.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn keep_checkpoint(
        &self,
        signed_tree: SignedTree,
        note: String,
        now: i64,
    ) -> Result<(), StoreError> {
        let size = i64::try_from(signed_tree.tree.size()).map_err(|_| StoreError::Corrupt)?;
        let hash = signed_tree.hash.unwrap_or(Digest::ZERO).as_bytes().to_vec();
        let peaks = signed_tree.tree.to_bytes();
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                tx.execute(
                    sql("INSERT INTO audit_tree (id, size, hash, peaks) VALUES (1, $1, \
                 $2, $3) ON CONFLICT (id) DO UPDATE SET size = $1, hash = $2, \
                 peaks = $3")
                    .with(values![size, hash, peaks]),
                )
                .await?;
                tx.execute(
                    sql("INSERT INTO audit_checkpoints (size, at, note) VALUES ($1, $2, \
                 $3) ON CONFLICT (size) DO UPDATE SET at = $2, note = $3")
                    .with(values![size, now, note]),
                )
                .await?;
                tx.execute(
                    sql("DELETE FROM audit_checkpoints WHERE (SELECT count(*) FROM \
                 audit_checkpoints) > $1 AND size IN (SELECT size FROM (SELECT \
                 size, row_number() OVER (ORDER BY size) AS n FROM \
                 audit_checkpoints) WHERE n <= $1 / 2 AND n % 2 = 1)")
                    .bind(MAX_CHECKPOINTS),
                )
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Records in the audit log that earlier checkpoints are invalid, with the reason and the last
    /// checkpoint. Deletes the stored checkpoints and the tree unless `keeps` is set.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn reset_signing(
        &self,
        reason: &str,
        last: Option<String>,
        keeps: bool,
        now: i64,
    ) -> Result<(), StoreError> {
        let reason = reason.to_owned();
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let mut dropped = 0;
                if !keeps {
                    dropped = tx.execute(sql("DELETE FROM audit_checkpoints")).await?;
                    tx.execute(sql("DELETE FROM audit_tree")).await?;
                }
                let body = SigningResetEvent {
                    reason: &reason,
                    last_checkpoint: last.as_deref(),
                    dropped_checkpoints: dropped,
                };
                tx.record(AuditEvent::new(now, "audit.signed_anew", String::new(), &body)?);
                Ok(())
            })
        })
        .await
    }

    /// Returns the checkpoints over more than `after` rows, the smallest first; at most `limit`.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn checkpoints(
        &self,
        after: i64,
        limit: u32,
    ) -> Result<Vec<CheckpointRow>, StoreError> {
        self.db()
            .query(
                sql("SELECT size, note FROM audit_checkpoints WHERE size > $1 ORDER \
                 BY size LIMIT $2")
                .bind(after)
                .bind(limit),
            )
            .await
    }
}
