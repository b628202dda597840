//! The active policy file: loaded at the start, replaced as a whole, stored in versions. An invalid file
//! changes nothing. An active version that can no longer be read denies every call.

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

/// The file's name in rules and findings. It has no version, so that an unchanged rule stays equal on every
/// device.
pub const FILE_NAME: &str = "policy.yaml";

/// The active policy.
#[derive(Debug, Default)]
pub struct Active {
    /// The stored version. None before the first.
    pub row: Option<PolicyRow>,
    /// The parsed file. None before the first version, or if the file cannot be read.
    pub file: Option<PolicyFile>,
    /// Why the file cannot be read. May hold warnings if it can.
    pub findings: Vec<Finding>,
}

impl Active {
    /// Parses a version that was accepted before.
    #[must_use]
    pub fn read(row: PolicyRow) -> Self {
        let (file, findings) = orion_policy::check(&row.text, FILE_NAME, &LintContext::default());
        Self { row: Some(row), file, findings }
    }

    /// Returns the version number, 0 before the first.
    #[must_use]
    pub fn version(&self) -> i64 {
        self.row.as_ref().map_or(0, |row| row.version)
    }

    /// Returns whether there is an active version that cannot be read.
    #[must_use]
    pub const fn is_unreadable(&self) -> bool {
        self.row.is_some() && self.file.is_none()
    }

    /// Returns the terms of a device.
    #[must_use]
    pub fn terms(&self, device: &DeviceName) -> PolicyTerms {
        match &self.file {
            Some(file) => terms(file, device),
            None => PolicyTerms { unreadable: self.is_unreadable(), ..PolicyTerms::default() },
        }
    }
}

/// Returns the terms of a device in a policy file.
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

/// The active policy, shared.
#[derive(Debug, Default)]
pub struct Policies {
    active: RwLock<Arc<Active>>,
    /// Changes run one at a time, so that memory holds what was stored last.
    apply_lock: Mutex<()>,
}

impl Policies {
    /// Loads the active policy from the database.
    ///
    /// # Errors
    /// The database cannot be read. A policy file that cannot be read is no error here: it denies every
    /// call.
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

    /// Returns the active policy.
    #[must_use]
    pub fn active(&self) -> Arc<Active> {
        Arc::clone(&self.active.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, active: Active) {
        *self.active.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(active);
    }
}

/// Runs long work on a blocking thread, so that other requests continue. The heavy request is held until
/// the work ends.
///
/// # Errors
/// [`StoreError::Unavailable`] if the work panics or is cancelled.
async fn run_blocking<T: Send + 'static>(
    request: &HeavyRequest,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    let request = request.clone();
    let held = move || {
        let done = work();
        drop(request);
        done
    };
    tokio::task::spawn_blocking(held).await.map_err(|error| {
        tracing::error!(%error, "a trial or review broke off");
        StoreError::Unavailable
    })
}
