//! The versions of the policy file. The last one is active; a rollback is a new version with an older text.
//! Policies are not validated here.

use orion_domain::{Digest, UserName};
use serde::Serialize;
use serde_json::Value;

use super::columns::{digest, parsed};
use super::db::{AuditEvent, DecodeError, Durability, FromRow, Row, sql, values};
use super::{Store, StoreError};

/// The limit of listed versions.
const MAX_LISTED: i64 = 1000;

/// A policy to apply.
#[derive(Debug, Clone)]
pub struct NewPolicy {
    /// The text of the file.
    pub text: String,
    /// Who applies it.
    pub by: UserName,
    /// The person's note.
    pub note: String,
    /// The version that it follows, 0 for none; another version in between is a conflict.
    pub follows: i64,
    /// The older version whose text it restores. None unless it is a rollback.
    pub restores: Option<i64>,
    /// The effective changes of each device, for the audit log.
    pub changes: Value,
}

/// A version of the policy. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRow {
    /// The number, from 1.
    pub version: i64,
    /// The text of the file. Empty in a list.
    pub text: String,
    /// SHA-256 of the file.
    pub sha256: Digest,
    /// Who applied it.
    pub by: UserName,
    /// When it was applied.
    pub at: i64,
    /// The person's note.
    pub note: String,
    /// The older version whose text it restores. None unless it is a rollback.
    pub restores: Option<i64>,
}

impl FromRow for PolicyRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            version: row.get("version")?,
            text: row.get("text")?,
            sha256: digest(row, "sha256")?,
            by: parsed(row, "applied_by")?,
            at: row.get("applied_at")?,
            note: row.get("note")?,
            restores: row.get("restores")?,
        })
    }
}

/// The audit event of a version.
#[derive(Serialize)]
struct PolicyAppliedEvent<'a> {
    version: i64,
    sha256: Digest,
    by: &'a UserName,
    note: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    restores: Option<i64>,
    changes: &'a Value,
}

impl Store {
    /// Stores a version of the policy, which is active from then on.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if another version was stored after the one that it follows.
    pub async fn apply_policy(&self, new: NewPolicy, now: i64) -> Result<PolicyRow, StoreError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let (last,): (i64,) =
                    tx.query_one(sql("SELECT COALESCE(MAX(version), 0) FROM policies")).await?;
                if last != new.follows {
                    return Err(StoreError::Conflict);
                }
                let sha256 = Digest::of(new.text.as_bytes());
                let row: PolicyRow = tx
                    .query_one(
                        sql("INSERT INTO policies (version, text, sha256, applied_by, \
                 applied_at, note, restores) VALUES ($1, $2, $3, $4, $5, $6, \
                 $7) RETURNING *")
                        .with(values![
                            last + 1,
                            new.text,
                            sha256,
                            new.by.as_str(),
                            now,
                            new.note,
                            new.restores
                        ]),
                    )
                    .await?;
                let kind = match row.restores {
                    None => "policy.applied",
                    Some(_) => "policy.rolled_back",
                };
                let body = PolicyAppliedEvent {
                    version: row.version,
                    sha256: row.sha256,
                    by: &row.by,
                    note: &row.note,
                    restores: row.restores,
                    changes: &new.changes,
                };
                tx.record(AuditEvent::new(now, kind, String::new(), &body)?);
                Ok(row)
            })
        })
        .await
    }

    /// Returns the active version. None before the first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn active_policy(&self) -> Result<Option<PolicyRow>, StoreError> {
        self.db().query_optional(sql("SELECT * FROM policies ORDER BY version DESC LIMIT 1")).await
    }

    /// Returns one version.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn policy(&self, version: i64) -> Result<PolicyRow, StoreError> {
        self.db().query_one(sql("SELECT * FROM policies WHERE version = $1").bind(version)).await
    }

    /// Returns the versions without their texts, newest first; at most 1,000.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn policies(&self) -> Result<Vec<PolicyRow>, StoreError> {
        self.db()
            .query(
                sql("SELECT version, '' AS text, sha256, applied_by, applied_at, note, restores \
             FROM policies ORDER BY version DESC LIMIT $1")
                .bind(MAX_LISTED),
            )
            .await
    }
}
