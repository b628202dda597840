//! The policy file that holds: read at the start, replaced whole, kept in versions. A file that does
//! not validate changes nothing; one that held and cannot be read any more denies all.

mod apply;
mod changes;
mod replay;
mod review;

use std::sync::{Arc, PoisonError, RwLock};

use orion_domain::DeviceName;
use orion_policy::{Finding, LintContext, PolicyFile};
use tokio::sync::Mutex;

pub use apply::{ApplyResult, Checked, Text, apply, check, roll_back};
pub use changes::DeviceChange;
pub use replay::{Change, Counts, Replay, ReplayResult, ReplaySample, replay};
pub use review::{DAYS, GrantReview, Review, review};

use crate::fleet::PolicyTerms;
use crate::people::HeavyRequest;
use crate::store::{PolicyRow, Store, StoreError};

/// What rules and findings call the file. The version is not in it, so that a rule that stays as it
/// is stays the same on every device.
pub const FILE_NAME: &str = "policy.yaml";

/// The policy that holds.
#[derive(Debug, Default)]
pub struct Active {
    /// Its version; none before the first.
    pub row: Option<PolicyRow>,
    /// The file, unless it cannot be read.
    pub file: Option<PolicyFile>,
    /// Why it cannot be read.
    pub findings: Vec<Finding>,
}

impl Active {
    /// Reads a version that was accepted before.
    #[must_use]
    pub fn read(row: PolicyRow) -> Self {
        let (file, findings) = orion_policy::check(&row.text, FILE_NAME, &LintContext::default());
        Self { row: Some(row), file, findings }
    }

    /// Its number, 0 before the first.
    #[must_use]
    pub fn version(&self) -> i64 {
        self.row.as_ref().map_or(0, |row| row.version)
    }

    /// Whether there is one that cannot be read.
    #[must_use]
    pub const fn is_unreadable(&self) -> bool {
        self.row.is_some() && self.file.is_none()
    }

    /// What it says of a device.
    #[must_use]
    pub fn terms(&self, device: &DeviceName) -> PolicyTerms {
        match &self.file {
            Some(file) => terms(file, device),
            None => PolicyTerms { unreadable: self.is_unreadable(), ..PolicyTerms::default() },
        }
    }
}

/// What a file says of a device.
#[must_use]
pub fn terms(file: &PolicyFile, device: &DeviceName) -> PolicyTerms {
    let line = file.line_of(device).unwrap_or_default();
    PolicyTerms {
        grants: file.compile(device).map(|compiled| (compiled.grants, line)),
        rules: file.rules_for(device),
        risk: file.risk(),
        timezone: file.timezone().to_owned(),
        unreadable: false,
    }
}

/// The policy that holds, shared.
#[derive(Debug, Default)]
pub struct Policies {
    active: RwLock<Arc<Active>>,
    /// Changes come one at a time, so that what is in memory is what was recorded last.
    turn: Mutex<()>,
}

impl Policies {
    /// Reads the one that holds from the record.
    ///
    /// # Errors
    /// The record cannot be read. A file that cannot be read is no error here: it denies all.
    pub async fn load(store: &Store) -> Result<Self, StoreError> {
        let policies = Self::default();
        if let Some(row) = store.active_policy().await? {
            let active = Active::read(row);
            if active.is_unreadable() {
                let why = active.findings.first().map(ToString::to_string).unwrap_or_default();
                tracing::error!(
                    version = active.version(), %why,
                    "the policy cannot be read, so every call is denied; apply another with `orion policy apply`, or go back with `orion policy rollback`"
                );
            }
            policies.set(active);
        }
        Ok(policies)
    }

    /// The one that holds.
    #[must_use]
    pub fn active(&self) -> Arc<Active> {
        Arc::clone(&self.active.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, active: Active) {
        *self.active.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(active);
    }
}

/// Does work that takes a while on a thread for such, so that other requests go on. The turn that it has is
/// over no sooner than the work.
///
/// # Errors
/// [`StoreError::Unavailable`] where it broke off.
async fn beside<T: Send + 'static>(
    turn: &HeavyRequest,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    let turn = turn.clone();
    let held = move || {
        let done = work();
        drop(turn);
        done
    };
    tokio::task::spawn_blocking(held).await.map_err(|error| {
        tracing::error!(%error, "a trial or review broke off");
        StoreError::Unavailable
    })
}
