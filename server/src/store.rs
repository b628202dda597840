//! The store: the only module that speaks SQL. One SQLite file has many readers and one writer.
//!
//! Every change goes through the `writer`, which commits waiting changes in groups and links the audit rows
//! in the same transaction. Reads use a small pool and never wait for the writer. The store does not decide
//! anything: it does not evaluate policies or reach devices.

mod approvals;
mod audit;
mod authorities;
mod backup;
mod calls;
mod chats;
mod checkpoints;
mod devices;
mod invites;
mod labels;
mod people;
mod plans;
mod policies;
mod row;
mod writer;

#[cfg(test)]
mod tests;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dashmap::{DashMap, DashSet};
use futures_util::future::BoxFuture;
use orion_domain::audit::AuditHead;
use orion_domain::{CallId, DeviceId};
use sqlx::ConnectOptions as _;
use sqlx::SqlitePool;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePoolOptions};

pub use approvals::{
    ApprovalRow, ApprovalScope, ApprovalState, AskError, Card, CommittedWith, DecideError,
    MOST_OF_PERSON, MOST_ON_DEVICE, MOST_OPEN, NewApproval, NewVote, StandingApproval, StandingKey,
    StandingRule, Vote,
};
pub use audit::{AuditVerdict, TrustAnchor, verify_file};
pub use authorities::{AuthorityRow, CertificateHolder, ImportedAuthorities, holders_of, taken_in};
pub use backup::{Health, check_file, copy_file, newest_version};
pub use calls::{
    Admitted, CallRow, CloseCall, ClosedBy, NewCall, QueueError, QueueLimits, RecordedCall,
    StateChange, UnreconciledCall, Witness, first_id_at,
};
pub use chats::MessageRow;
pub use checkpoints::{CheckpointRow, DeviceChainRow, SignedTree};
pub use devices::{
    Candidate, DeviceRow, DeviceState, Hello, HelloError, ModeRow, PolicyMismatch,
    PolicyMismatchKind, RedeemError, Redemption,
};
pub use invites::NewInvite;
pub use labels::{Authorship, Label, LabelledContent, Provenance};
pub use people::{
    AccountRow, ChangeUserError, NewToken, TokenError, TokenFilter, TokenRow, UserRow,
};
pub use plans::{
    DecidePlanError, EarlierChanges, MakePlanError, NewPlan, NewPlanVote, NewStep, PlanRow,
    PlanState, StepEnd, StepRow, StepState,
};
pub use policies::{NewPolicy, PolicyRow};

use writer::{Durability, Shape, Tx, WriterHandle};

/// The schema migrations, oldest first.
static MIGRATIONS: Migrator = sqlx::migrate!("./migrations/sqlite");

/// How long a statement waits for another process that holds a lock on the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The size of the pool of readers.
const READERS: u32 = 4;
/// The limit of tracked calls that need no fsync; calls beyond the limit are fsynced.
const MAX_READ_ONLY_CALLS: usize = 100_000;
/// How long a read waits for a connection of the pool.
const READER_TIMEOUT: Duration = Duration::from_secs(10);

/// Why the database could not be read or changed. SQLite's own message is logged where the error occurs and
/// is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The database did not answer, or the store is closed.
    #[error("the database does not respond; try again in a few seconds")]
    Unavailable,
    /// The disk is full; nothing of the change was stored.
    #[error("the disk of the database is full; nothing was changed; free some space and try again")]
    Full,
    /// Another row exists already, the row has changed since it was read, or several ids have this prefix.
    #[error(
        "the name or id is taken, or the entry has changed since it was read; read it again, or give more of the id"
    )]
    Conflict,
    /// This person has used the idempotency key for an earlier call.
    #[error("this idempotency key was used for another call; give each call a key of its own")]
    KeyInUse,
    /// No row has that name or id.
    #[error("there is nothing by that name or id on record")]
    NotFound,
    /// The schema is not the one of this version.
    #[error(
        "the database was made by another version of orion-server; run that version, or restore a backup that this one made"
    )]
    OtherVersion,
    /// The stored data cannot be read.
    #[error("the database is damaged; run `orion audit verify` and restore a backup")]
    Corrupt,
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let kind = classify(&error);
        match kind {
            Self::Conflict | Self::KeyInUse | Self::NotFound => {}
            Self::Unavailable | Self::Full | Self::OtherVersion | Self::Corrupt => {
                tracing::error!(%error, "the database failed");
            }
        }
        kind
    }
}

/// Maps SQLite's primary result codes, which are the low byte of the extended code.
fn classify(error: &sqlx::Error) -> StoreError {
    const CORRUPT: u32 = 11;
    const FULL: u32 = 13;
    const CONSTRAINT: u32 = 19;
    const NOT_A_DATABASE: u32 = 26;
    if matches!(error, sqlx::Error::RowNotFound) {
        return StoreError::NotFound;
    }
    if matches!(error, sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)) {
        return StoreError::Corrupt;
    }
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<u32>().ok());
    match code.map(|code| code & 0xff) {
        Some(FULL) => StoreError::Full,
        Some(CONSTRAINT) if is_key_in_use(error) => StoreError::KeyInUse,
        Some(CONSTRAINT) => StoreError::Conflict,
        Some(CORRUPT | NOT_A_DATABASE) => StoreError::Corrupt,
        Some(_) | None => StoreError::Unavailable,
    }
}

/// Returns whether a call was rejected for its idempotency key. SQLite names the columns that must be
/// unique.
fn is_key_in_use(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| {
        error.is_unique_violation() && error.message().contains("calls.idempotency_key")
    })
}

/// A handle to the database. Clones share it.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The database file.
    path: PathBuf,
    reads: SqlitePool,
    writer: WriterHandle,
    /// Open calls that are known to change nothing; their changes of state need no fsync. A call that is
    /// not in the set is treated as one with effects.
    read_only_calls: DashSet<CallId>,
    /// When this process last stored a hello of each device.
    greeted: Arc<DashMap<DeviceId, Instant>>,
}

impl Store {
    /// Opens the database, creates it if it does not exist, and applies the migrations.
    ///
    /// # Errors
    /// The file cannot be created, opened or read.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        keep_private(path)?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT)
            .pragma("cache_size", "-16384")
            .pragma("temp_store", "MEMORY")
            .disable_statement_logging();
        let writing = options
            .clone()
            .journal_mode(SqliteJournalMode::Wal)
            .pragma("wal_autocheckpoint", writer::LOG_PAGES);
        let mut connection = writing.connect().await?;
        MIGRATIONS.run(&mut connection).await.map_err(|error| {
            tracing::error!(%error, "the record's tables cannot be brought up to date");
            let other = matches!(
                error,
                MigrateError::VersionMissing(_)
                    | MigrateError::VersionMismatch(_)
                    | MigrateError::VersionTooNew(..)
            );
            if other { StoreError::OtherVersion } else { StoreError::Corrupt }
        })?;
        let reads = SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(READER_TIMEOUT)
            .test_before_acquire(false)
            .connect_lazy_with(options.pragma("query_only", "ON"));
        let writer = WriterHandle::start(writing, connection).await?;
        Ok(Self {
            inner: Arc::new(Inner {
                path: path.to_owned(),
                reads,
                writer,
                read_only_calls: DashSet::new(),
                greeted: Arc::default(),
            }),
        })
    }

    /// Returns whether no read or write is in progress, for tests that take one step at a time.
    #[doc(hidden)]
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        let reads = &self.inner.reads;
        reads.num_idle() == reads.size() as usize && self.inner.writer.is_at_rest()
    }

    /// Commits what waits, moves everything into the main file and closes it. Later changes fail.
    pub async fn close(&self) {
        self.inner.reads.close().await;
        self.inner.writer.close().await;
    }

    /// Returns the last audit row that survives a power cut: only this head may be shown to others.
    #[must_use]
    pub fn synced_audit_head(&self) -> AuditHead {
        self.inner.writer.synced_head()
    }

    /// Tracks a call that changes nothing, before the call is stored: a result may arrive at any moment
    /// after that.
    fn track_read_only_call(&self, call: &NewCall) -> bool {
        let lists = !call.has_effects && self.inner.read_only_calls.len() < MAX_READ_ONLY_CALLS;
        if lists {
            self.inner.read_only_calls.insert(call.id);
        }
        lists
    }

    fn untrack_read_only_call(&self, call: CallId) {
        self.inner.read_only_calls.remove(&call);
    }

    fn reads(&self) -> &SqlitePool {
        &self.inner.reads
    }

    /// Runs a change of several statements in one transaction.
    async fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write_as(Shape::Several, durability, work).await
    }

    /// Runs a change of one statement, which SQLite itself makes atomic.
    async fn write_one<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write_as(Shape::One, durability, work).await
    }

    async fn write_as<T: Send + 'static>(
        &self,
        shape: Shape,
        durability: Durability,
        work: impl for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.inner.writer.submit(durability, shape, work).await
    }
}

/// Creates the file, or sets the mode of an existing one, so that only its owner can read it. SQLite gives
/// the files beside it the same mode.
fn keep_private(path: &Path) -> Result<(), StoreError> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let made = options.open(path).and_then(|file| {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
        drop(file);
        Ok(())
    });
    made.map_err(|error| {
        tracing::error!(%error, path = %path.display(), "the record's file cannot be opened");
        if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
            StoreError::Full
        } else {
            StoreError::Unavailable
        }
    })
}

/// Opens a database read-only; another process may have it open.
async fn read_only(path: &Path) -> Result<SqliteConnection, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging();
    Ok(options.connect().await?)
}
