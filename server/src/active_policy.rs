//! The active policy file, in memory: loaded at the start and replaced as a whole. An active version that can
//! no longer be read denies every call. How a file is checked and applied is in [`crate::policy`].

use std::sync::{Arc, PoisonError, RwLock};

use orion_domain::evaluate::RiskDefaults;
use orion_domain::rule::Rule;
use orion_domain::{DeviceName, Grants};
use orion_policy::{Finding, Labels, PolicyFile};

use crate::store::{PolicyRow, Store, StoreError};

/// What the policy file says about one device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyTerms {
    /// The grants and their line in the file. None where the file does not name the device.
    pub grants: Option<(Grants, u32)>,
    /// The labels that the file gives the device. None where it gives none, so that those count that are stored with
    /// the device.
    pub labels: Option<Labels>,
    /// The rules that apply to the device.
    pub rules: Vec<Rule>,
    /// What each risk requires by default.
    pub risk: RiskDefaults,
    /// The IANA name of the time zone for hours in rules; empty for UTC.
    pub timezone: String,
    /// Whether the active policy file cannot be read: everything is denied then.
    pub unreadable: bool,
}

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
    /// Why the file cannot be read.
    pub findings: Vec<Finding>,
}

impl Active {
    /// Parses a version that was accepted before. It is not linted again: its devices have not reported their places after a
    /// start, and an example may need them.
    #[must_use]
    pub fn read(row: PolicyRow) -> Self {
        let (file, findings) = PolicyFile::parse(&row.text, FILE_NAME);
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

    /// Returns the terms of a device with these stored labels.
    #[must_use]
    pub fn terms(&self, device: &DeviceName, stored: &Labels) -> PolicyTerms {
        match &self.file {
            Some(file) => terms(file, device, stored),
            None => PolicyTerms { unreadable: self.is_unreadable(), ..PolicyTerms::default() },
        }
    }
}

/// Returns the terms of a device with these stored labels in a policy file.
#[must_use]
pub fn terms(file: &PolicyFile, device: &DeviceName, stored: &Labels) -> PolicyTerms {
    let line = file.line_of(device).unwrap_or_default();
    PolicyTerms {
        grants: file.compile(device, stored).map(|compiled| (compiled.grants, line)),
        labels: file.labels(device).cloned(),
        rules: file.rules_for(device, stored),
        risk: file.risk(),
        timezone: file.timezone().to_owned(),
        unreadable: false,
    }
}

/// The active policy, shared.
#[derive(Debug, Default)]
pub struct Policies {
    active: RwLock<Arc<Active>>,
    /// Changes run one at a time, so that memory holds what was stored last. What is only compared with the policy is done
    /// under a lock for reading.
    pub apply_lock: tokio::sync::RwLock<()>,
    /// Whether the configuration denies every change, whatever the policy says.
    pub writes_disabled: bool,
}

impl Policies {
    /// Loads the active policy from the database.
    ///
    /// # Errors
    /// The database cannot be read. A policy file that cannot be read is no error here: it denies every
    /// call.
    pub async fn load(store: &Store, writes_disabled: bool) -> Result<Self, StoreError> {
        let policies = Self { writes_disabled, ..Self::default() };
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

    /// Replaces the active policy. The caller holds the lock and has stored it.
    pub fn set(&self, active: Active) {
        *self.active.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(active);
    }
}
