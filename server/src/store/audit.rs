//! The audit log: reads, pages and verifies its chain. It does not sign; `notary` does.

mod follow;
mod search;

use orion_domain::audit::{AuditHead, AuditRow, Break};
use orion_domain::{CallId, Digest};
use serde::Serialize;

use super::columns::{digest, id_range};
use super::db::{
    AuditEvent, Batch, DecodeError, Durability, FromRow, HEAD, HeadRow, Row, Statement, sql, values,
};
use super::{Store, StoreError};

pub use follow::{TrustAnchor, verify_file};
pub use search::{AuditFilter, Found, FoundRow};

/// The limit of rows that are listed or exported at a time.
const MAX_ROWS: u32 = 10_000;

macro_rules! rows {
    ($rest:literal) => {
        concat!("SELECT seq, at, kind, call_id, body, prev_hash, hash FROM audit ", $rest)
    };
}

/// The result of verifying the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditVerdict {
    /// Every row follows from the one before, up to the head.
    Whole {
        /// The number of rows.
        rows: i64,
        /// The end of the chain.
        head: AuditHead,
        /// The number of signed checkpoints, all of which match the chain.
        checkpoints: u64,
    },
    /// A row does not follow, or the chain does not match its head or what was signed.
    Broken {
        /// The row and the kind of the break.
        broken: Break,
        /// The number of good rows before the break.
        rows: i64,
    },
}

impl Store {
    /// Records an audit event without a change of the store: a sign-in, a failure.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn audit_event(
        &self,
        kind: &'static str,
        body: impl Serialize,
        now: i64,
    ) -> Result<(), StoreError> {
        let event = AuditEvent::new(now, kind, String::new(), &body)?;
        self.db().apply(Batch::new(Durability::Fsync).event(event)).await.map(drop)
    }

    /// Records an audit event about one call.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn audit_call_event(
        &self,
        kind: &'static str,
        call: CallId,
        body: impl Serialize,
        now: i64,
    ) -> Result<(), StoreError> {
        let event = AuditEvent::new(now, kind, call.to_string(), &body)?;
        self.db().apply(Batch::new(Durability::Commit).event(event)).await.map(drop)
    }

    /// Returns rows, newest first, at most `limit` and never more than 10,000. Only rows before
    /// `before_seq` and about calls whose id has the prefix `call_prefix`, if they are given.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if no call's id can have this prefix.
    pub async fn audit_rows(
        &self,
        limit: u32,
        before_seq: Option<i64>,
        call_prefix: Option<&str>,
    ) -> Result<Vec<AuditRow>, StoreError> {
        let before = before_seq.unwrap_or(i64::MAX);
        let limit = i64::from(limit.min(MAX_ROWS));
        self.db().flush().await?;
        let statement = match call_prefix {
            None => {
                sql(rows!("WHERE seq < $1 ORDER BY seq DESC LIMIT $2")).bind(before).bind(limit)
            }
            Some(prefix) => {
                let (from, to) = id_range(prefix).ok_or(StoreError::NotFound)?;
                // The subquery sorts only the numbers, out of the index.
                sql(rows!(
                    "WHERE seq IN (SELECT seq FROM audit WHERE call_id <> '' AND call_id >= $3 \
                     AND call_id < $4 AND +seq < $1 ORDER BY +seq DESC LIMIT $2) ORDER BY seq DESC"
                ))
                .with(values![before, limit, from, to])
            }
        };
        self.db().query(statement).await
    }

    /// Returns the rows after `after_seq`, oldest first; at most `limit`, and never more than 10,000.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn audit_export(
        &self,
        after_seq: i64,
        limit: u32,
    ) -> Result<Vec<AuditRow>, StoreError> {
        self.db().flush().await?;
        self.db().query(page(after_seq, limit.min(MAX_ROWS))).await
    }

    /// Returns the end of the chain.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn audit_head(&self) -> Result<AuditHead, StoreError> {
        self.db().flush().await?;
        let head: Option<HeadRow> = self.db().query_optional(sql(HEAD)).await?;
        head.and_then(HeadRow::head).ok_or(StoreError::Corrupt)
    }

    /// Returns the hash of a row. None if there is no such row.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn audit_hash(&self, seq: i64) -> Result<Option<Digest>, StoreError> {
        let row: Option<(Vec<u8>,)> = self
            .db()
            .query_optional(sql("SELECT hash FROM audit WHERE seq = $1").bind(seq))
            .await?;
        Ok(row.and_then(|(hash,)| Digest::from_slice(&hash)))
    }

    /// Verifies the whole chain up to this moment against what was signed. It uses its own connection, so
    /// that no reader of the pool is occupied.
    ///
    /// # Errors
    /// The database cannot be read at all; damage to a row is a verdict.
    pub async fn verify_audit(
        &self,
        held: Option<&TrustAnchor>,
    ) -> Result<AuditVerdict, StoreError> {
        verify_file(&self.inner.path, held).await
    }
}

/// Reads the rows after this one, oldest first.
fn page(after_seq: i64, limit: u32) -> Statement {
    sql(rows!("WHERE seq > $1 ORDER BY seq LIMIT $2")).bind(after_seq).bind(limit)
}

impl FromRow for AuditRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            seq: row.get("seq")?,
            at: row.get("at")?,
            kind: row.get("kind")?,
            call_id: row.get("call_id")?,
            body: row.get("body")?,
            prev_hash: digest(row, "prev_hash")?,
            hash: digest(row, "hash")?,
        })
    }
}
