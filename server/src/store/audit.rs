//! The audit log: reads, pages and verifies its chain, and defines the first row of a call. It does not
//! sign; `notary` does.

mod follow;

use orion_domain::audit::{AuditHead, AuditRow, Break};
use orion_domain::{
    CallId, ConversationId, DeviceId, DeviceName, Digest, PlanId, Risk, Role, Undo, UserName,
};
use serde::Serialize;
use serde_json::value::RawValue;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::calls::NewCall;
use super::row::id_range;
use super::writer::{Durability, Event};
use super::{Store, StoreError};

pub use follow::{TrustAnchor, verify_file};

/// Arguments of more bytes than this are recorded by digest, length and their beginning.
const WHOLE_ARGUMENTS: usize = 8 * 1024;
/// How many bytes of the beginning are recorded.
const BEGINNING: usize = 1024;
/// How many touches are recorded, and how many bytes of each.
const TOUCHES: usize = 64;
const TOUCH_BYTES: usize = 4 * 1024;
/// How many bytes of a requested name are recorded.
const NAME_BYTES: usize = 256;
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

/// The beginning of arguments that are too long to record.
#[derive(Serialize)]
struct Cut<'a> {
    length_bytes: usize,
    beginning: &'a str,
}

/// The body of `call.opened`.
#[derive(Serialize)]
pub(super) struct Opened<'a> {
    user: &'a UserName,
    role: Role,
    conversation: Option<ConversationId>,
    device: Option<&'a DeviceName>,
    device_id: Option<DeviceId>,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_cut: Option<Cut<'a>>,
    arguments_digest: Digest,
    touches: Vec<&'a str>,
    touches_count: usize,
    decision: &'a str,
    rule: &'a str,
    policy_version: &'a str,
    risk: Option<Risk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<&'a Undo>,
    has_effects: bool,
    dry_run: bool,
    recovered: bool,
    idempotency_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaces: Option<CallId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<PlanId>,
    deadline_at: i64,
}

impl<'a> Opened<'a> {
    pub(super) fn of(call: &'a NewCall) -> Self {
        let text = std::str::from_utf8(&call.arguments).unwrap_or_default();
        let arguments = (text.len() <= WHOLE_ARGUMENTS)
            .then(|| serde_json::from_str::<&RawValue>(text).ok())
            .flatten();
        let arguments_cut = arguments
            .is_none()
            .then(|| Cut { length_bytes: call.arguments.len(), beginning: cut(text, BEGINNING) });
        Self {
            user: &call.caller.user,
            role: call.caller.role,
            conversation: call.conversation.or(call.caller.conversation),
            device: call.device.as_ref().map(|(_, name)| name),
            device_id: call.device.as_ref().map(|(id, _)| *id),
            tool: cut(&call.tool, NAME_BYTES),
            arguments,
            arguments_cut,
            arguments_digest: call.arguments_digest,
            touches: call.touches.iter().take(TOUCHES).map(|line| cut(line, TOUCH_BYTES)).collect(),
            touches_count: call.touches.len(),
            decision: &call.decision,
            rule: &call.rule,
            policy_version: &call.policy_version,
            risk: call.risk,
            undo: call.undo.as_ref(),
            has_effects: call.has_effects,
            dry_run: call.dry_run,
            recovered: call.recovered,
            idempotency_key: call.idempotency_key.as_deref().map(|key| cut(key, NAME_BYTES)),
            replaces: call.replaces,
            plan: call.plan,
            deadline_at: call.deadline_at,
        }
    }
}

/// Returns the beginning of a text, at most this many bytes, whole characters only.
fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
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
        let event = Event::new(now, kind, String::new(), &body)?;
        self.write_one(Durability::Fsync, move |tx| {
            Box::pin(async move {
                tx.record(event);
                Ok(())
            })
        })
        .await
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
        let event = Event::new(now, kind, call.to_string(), &body)?;
        self.write_one(Durability::Commit, move |tx| {
            Box::pin(async move {
                tx.record(event);
                Ok(())
            })
        })
        .await
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
        let rows = match call_prefix {
            None => {
                sqlx::query(rows!("WHERE seq < $1 ORDER BY seq DESC LIMIT $2"))
                    .bind(before)
                    .bind(limit)
                    .fetch_all(self.reads())
                    .await?
            }
            Some(prefix) => {
                let (from, to) = id_range(prefix).ok_or(StoreError::NotFound)?;
                // The subquery sorts only the numbers, out of the index.
                sqlx::query(rows!(
                    "WHERE seq IN (SELECT seq FROM audit WHERE call_id <> '' AND call_id >= $3 \
                     AND call_id < $4 AND +seq < $1 ORDER BY +seq DESC LIMIT $2) ORDER BY seq DESC"
                ))
                .bind(before)
                .bind(limit)
                .bind(from)
                .bind(to)
                .fetch_all(self.reads())
                .await?
            }
        };
        Ok(rows.iter().map(audit_row).collect::<Result<_, _>>()?)
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
        let mut connection = self.reads().acquire().await?;
        let rows = page(&mut connection, after_seq, i64::from(limit.min(MAX_ROWS))).await?;
        Ok(rows.iter().map(audit_row).collect::<Result<_, _>>()?)
    }

    /// Returns the end of the chain.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn audit_head(&self) -> Result<AuditHead, StoreError> {
        let mut connection = self.reads().acquire().await?;
        recorded_head(&mut connection).await?.ok_or(StoreError::Corrupt)
    }

    /// Returns the hash of a row. None if there is no such row.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn audit_hash(&self, seq: i64) -> Result<Option<Digest>, StoreError> {
        let row: Option<(Vec<u8>,)> = sqlx::query_as("SELECT hash FROM audit WHERE seq = $1")
            .bind(seq)
            .fetch_optional(self.reads())
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

async fn page(
    connection: &mut SqliteConnection,
    after_seq: i64,
    limit: i64,
) -> Result<Vec<SqliteRow>, StoreError> {
    let sql = rows!("WHERE seq > $1 ORDER BY seq LIMIT $2");
    Ok(sqlx::query(sql).bind(after_seq).bind(limit).fetch_all(connection).await?)
}

/// Reads the stored head; `None` if there is none or it cannot be read.
async fn recorded_head(connection: &mut SqliteConnection) -> Result<Option<AuditHead>, StoreError> {
    let row: Option<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT seq, hash FROM audit_head").fetch_optional(connection).await?;
    Ok(row.and_then(|(seq, hash)| Some(AuditHead { seq, hash: Digest::from_slice(&hash)? })))
}

fn audit_row(row: &SqliteRow) -> Result<AuditRow, sqlx::Error> {
    let hash = |column: usize| {
        Digest::from_slice(row.try_get::<&[u8], _>(column)?)
            .ok_or_else(|| sqlx::Error::Decode("not 32 bytes".into()))
    };
    Ok(AuditRow {
        seq: row.try_get(0)?,
        at: row.try_get(1)?,
        kind: row.try_get(2)?,
        call_id: row.try_get(3)?,
        body: row.try_get(4)?,
        prev_hash: hash(5)?,
        hash: hash(6)?,
    })
}
