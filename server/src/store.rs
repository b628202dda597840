//! The store: the only module that speaks SQL. One database has many readers and one writer.
//!
//! Each subject has a file with its statements. `db` runs them: it commits waiting changes in groups and
//! links the audit entries in the same transaction. Reads use a small pool and never wait for the writer. The
//! store does not decide anything: it does not evaluate policies or reach devices.

mod access_requests;
mod aliases;
mod approvals;
mod audit;
mod authorities;
mod backup;
mod calls;
mod chats;
mod checkpoints;
mod columns;
mod custom_tools;
mod db;
mod device_chains;
mod devices;
mod enrollment_requests;
mod invites;
mod labels;
mod local_effects;
mod macros;
mod memories;
mod passkeys;
mod people;
mod plans;
mod policies;
mod schedules;
mod spending;
mod stops;
mod turns;

#[cfg(test)]
mod tests;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use dashmap::DashMap;
use futures_util::future::BoxFuture;
use orion_domain::DeviceId;
use orion_domain::audit::AuditHead;

pub use access_requests::{
    AccessAnswer, AccessRequestRow, AccessRequestState, AnswerAccessError, NewRequestError,
};
pub use aliases::{AliasRow, MAX_ALIASES};
pub use approvals::{
    ApprovalRow, ApprovalScope, ApprovalState, AskError, Card, CommittedWith, DecideError,
    MAX_OPEN, MAX_OPEN_OF_PERSON, MAX_RULES_ON_DEVICE, NewApproval, NewVote, OpenRequest,
    StandingApproval, StandingKey, StandingRule, Vote, VoteHabit, VoteRecord,
};
pub use audit::{AuditFilter, AuditVerdict, Found, FoundRow, TrustAnchor, verify_file};
pub use authorities::{AuthorityRow, CertificateHolder, ImportedAuthorities, holders_of, taken_in};
pub use backup::{Health, check_file};
pub use calls::{
    Admitted, CallRow, CloseCall, ClosedBy, ListedCall, NewCall, Parent, QueueError, QueueLimits,
    RecordedCall, StateChange, UnreconciledCall, Witness, first_id_at,
};
pub use chats::{ChatRow, MessageRow};
pub use checkpoints::{CheckpointRow, SignedTree};
pub use custom_tools::{AnnouncedTool, CustomToolRow, CustomToolState, ToolDecision};
pub use db::{copy_file, newest_version};
pub use device_chains::DeviceChainRow;
pub use devices::{
    Candidate, DeviceRow, DeviceState, Hello, HelloError, ModeRow, PendingReason, PolicyMismatch,
    PolicyMismatchKind, RedeemError, Redemption, RenameError, Return, SetLabelsError,
};
pub use enrollment_requests::EnrollmentRequestRecord;
pub use invites::{InviteScope, NewInvite, OpenInvite};
pub use labels::{Authorship, Label, LabelledContent, Provenance};
pub use local_effects::LocalEffect;
pub use macros::{MAX_MACRO_BYTES, MAX_MACROS, MacroRow};
pub use memories::{MAX_MEMORIES, MAX_MEMORY_BYTES, MemoryFilter, MemoryRow};
pub use passkeys::{MAX_PASSKEYS, NewPasskeyError, PasskeyRow};
pub use people::{
    AccountRow, ChangeUserError, LinkedSession, NewToken, SessionsAfter, TokenError, TokenFilter,
    TokenRow, UserRow,
};
pub use plans::{
    DecidePlanError, EarlierChanges, MakePlanError, NewPlan, NewPlanVote, NewStep, PlanRow,
    PlanState, StepEnd, StepRow, StepState,
};
pub use policies::{NewPolicy, PolicyRow};
pub use schedules::{MAX_SCHEDULES, NewScheduleError, ScheduleRow, ScheduleState};
pub use spending::{Reservation, Spender, SpendingLimit, Spent};
pub use stops::{StopRow, StopScope};
pub use turns::{TurnRow, UsageChange};

use calls::OpenCalls;
use db::{Db, Durability, Tx};

/// Why the database could not be read or changed. The engine's own message is logged where the error occurs
/// and is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The database did not answer, or the store is closed.
    #[error("the database does not respond; try again in a few seconds")]
    Unavailable,
    /// The disk is full; nothing of the change was stored.
    #[error("the disk of the database is full; nothing was changed; free some space and try again")]
    Full,
    /// Another row exists already, or the row has changed since it was read.
    #[error("the name or id is taken, or the entry has changed since it was read; read it again")]
    Conflict,
    /// Several ids have this prefix.
    #[error("several ids begin like this one; give more of it")]
    Ambiguous,
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

/// A handle to the database. Clones share it.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The database file.
    path: PathBuf,
    db: Db,
    /// The calls that this process opened.
    open_calls: OpenCalls,
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
        Ok(Self {
            inner: Arc::new(Inner {
                path: path.to_owned(),
                db: Db::open(path).await?,
                open_calls: OpenCalls::default(),
                greeted: Arc::default(),
            }),
        })
    }

    /// Returns whether no read or write is in progress, for tests that take one step at a time. A change
    /// that waits for what comes next does not count.
    #[doc(hidden)]
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.inner.db.is_at_rest()
    }

    /// Commits what waits, moves everything into the main file and closes it. Later changes fail.
    pub async fn close(&self) {
        self.inner.db.close().await;
    }

    /// Returns the last audit row that survives a power cut: only this head may be shown to others.
    #[must_use]
    pub fn synced_audit_head(&self) -> AuditHead {
        self.inner.db.synced_head()
    }

    fn db(&self) -> &Db {
        &self.inner.db
    }

    fn open_calls(&self) -> &OpenCalls {
        &self.inner.open_calls
    }

    /// Reads, decides and writes in one transaction.
    async fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.inner.db.transact(durability, work).await
    }
}

/// Creates the file, or sets the mode of an existing one, so that only its owner can read it. The engine
/// gives the files beside it the same mode.
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
        tracing::error!(%error, path = %path.display(), "the database's file cannot be opened");
        if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
            StoreError::Full
        } else {
            StoreError::Unavailable
        }
    })
}
