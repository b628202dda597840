//! Checks a policy file and compares it with the active one. Changes nothing.

use std::collections::BTreeMap;

use orion_domain::Role;
use orion_policy::{Finding, Labels, LintContext, PolicyFile, Severity};

use crate::active_policy::{Active, FILE_NAME};
use crate::clock::now_ms;
use crate::fleet::Devices;
use crate::policy::changes::{DeviceChange, changes};
use crate::store::StoreError;

/// Whether a file is new or was accepted before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// Every check applies.
    New,
    /// Checks that depend on the time or on the devices only warn.
    Accepted,
}

/// The result of checking a policy file.
#[derive(Debug)]
pub struct Checked {
    /// The parsed file. None if it is invalid.
    pub file: Option<PolicyFile>,
    /// Errors and warnings.
    pub findings: Vec<Finding>,
    /// What the file would change on each device. Empty if it is invalid.
    pub changes: Vec<DeviceChange>,
}

/// Checks a policy file and compares it with the active one.
///
/// # Errors
/// The database cannot be read; [`StoreError::Unavailable`] if the check panics or is cancelled.
pub async fn check(devices: &Devices, text: String, kind: Text) -> Result<Checked, StoreError> {
    let passkeys = devices.store.roles_with_passkeys().await?;
    let invited = devices.store.labels_of_open_invites(now_ms()).await?;
    let devices = devices.clone();
    // A large file takes a while.
    let looking =
        tokio::task::spawn_blocking(move || inspect(&devices, &text, kind, passkeys, invited));
    looking.await.map_err(|_| StoreError::Unavailable)
}

fn inspect(
    devices: &Devices,
    text: &str,
    kind: Text,
    passkeys: Vec<Role>,
    invited: Vec<Labels>,
) -> Checked {
    let known = devices.fleet.all().into_iter().filter(|known| !known.has_ended());
    let mut labels = invited;
    let facts: BTreeMap<_, _> = known
        .map(|known| {
            labels.push(known.terms.labels.clone());
            (known.name.clone(), known.policy_facts())
        })
        .collect();
    let context = LintContext {
        devices: Some(facts),
        labels,
        now_ms: Some(now_ms()),
        passkeys: Some(passkeys),
    };
    let (mut file, mut findings) = orion_policy::check(text, FILE_NAME, &context);
    if kind == Text::Accepted {
        let (accepted, lasting) = PolicyFile::parse(text, FILE_NAME);
        if accepted.is_some() {
            findings.iter_mut().for_each(|finding| finding.severity = Severity::Warning);
        } else {
            findings = lasting;
        }
        file = accepted;
    }
    let Some(file) = file else {
        return Checked { file: None, findings, changes: Vec::new() };
    };
    let after = Active { row: None, file: Some(file), findings: Vec::new() };
    let changes = changes(&devices.fleet, &after);
    Checked { file: after.file, findings, changes }
}
