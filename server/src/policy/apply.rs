//! Checks a policy file, applies it, and rolls back to an older version.

mod check;

use orion_domain::{Caller, Digest};
use orion_policy::{Finding, Severity};
use serde_json::json;

use super::changes::DeviceChange;
use crate::active_policy::Active;
use crate::clock::now_ms;
use crate::fleet::Devices;
use crate::fleet::effective_policy::refresh_all;
use crate::store::{NewPolicy, PolicyRow, StoreError};

pub use check::{Checked, Text, check};

/// The maximum length of a stored note, in characters.
const MAX_NOTE_CHARS: usize = 500;

/// The most findings of a rejected file in the audit log.
const MAX_AUDITED_FINDINGS: usize = 20;

/// The result of applying a policy file.
#[derive(Debug)]
pub struct ApplyResult {
    /// The active version. None if the file is invalid.
    pub row: Option<PolicyRow>,
    /// Errors and warnings.
    pub findings: Vec<Finding>,
    /// What changes on each device.
    pub changes: Vec<DeviceChange>,
}

/// Applies a valid policy file to every device. The text that is active already makes no new version.
///
/// # Errors
/// [`StoreError::Conflict`] if the active version is not `expected`.
pub async fn apply(
    devices: &Devices,
    by: &Caller,
    text: String,
    expected: Option<i64>,
    note: &str,
) -> Result<ApplyResult, StoreError> {
    let (shared, by, note) = (devices.clone(), by.clone(), note.to_owned());
    devices
        .tasks
        .run_to_completion(async move { apply_whole(&shared, &by, text, expected, &note).await })
        .await
}

async fn apply_whole(
    devices: &Devices,
    by: &Caller,
    text: String,
    expected: Option<i64>,
    note: &str,
) -> Result<ApplyResult, StoreError> {
    let _guard = devices.policies.apply_lock.write().await;
    let active = devices.policies.active();
    if expected.is_some_and(|expected| expected != active.version()) {
        return Err(StoreError::Conflict);
    }
    let checked = check(devices, text.clone(), Text::New).await?;
    put(devices, by, text, checked, note, None).await
}

/// Applies an older version's text as a new version. The text that is active already makes no new version.
///
/// # Errors
/// [`StoreError::NotFound`]: there is no such version.
pub async fn roll_back(
    devices: &Devices,
    by: &Caller,
    version: i64,
    note: &str,
) -> Result<ApplyResult, StoreError> {
    let (shared, by, note) = (devices.clone(), by.clone(), note.to_owned());
    let work = async move {
        let _guard = shared.policies.apply_lock.write().await;
        let row = shared.store.policy(version).await?;
        let checked = check(&shared, row.text.clone(), Text::Accepted).await?;
        put(&shared, &by, row.text, checked, &note, Some(version)).await
    };
    devices.tasks.run_to_completion(work).await
}

/// Stores and loads a checked text. The text that is active already makes no new version.
async fn put(
    devices: &Devices,
    by: &Caller,
    text: String,
    checked: Checked,
    note: &str,
    restores: Option<i64>,
) -> Result<ApplyResult, StoreError> {
    let Checked { file, findings, changes } = checked;
    let note: String = orion_domain::strip_hidden(note, MAX_NOTE_CHARS);
    if file.is_none() {
        refused(devices, by, &text, &findings, &note, restores).await?;
        return Ok(ApplyResult { row: None, findings, changes });
    }
    let active = devices.policies.active();
    if !active.is_unreadable()
        && let Some(row) = active.row.as_ref().filter(|row| row.text == text)
    {
        // Only devices that failed to load this version before get anything new.
        refresh_all(devices).await;
        return Ok(ApplyResult { row: Some(row.clone()), findings, changes });
    }
    let new = NewPolicy {
        text,
        by: by.user.clone(),
        note,
        follows: active.version(),
        restores,
        changes: json!(changes),
    };
    let row = devices.store.apply_policy(new, now_ms()).await?;
    tracing::info!(version = row.version, by = %row.by, "a policy holds");
    devices.policies.set(Active { row: Some(row.clone()), file, findings: Vec::new() });
    refresh_all(devices).await;
    Ok(ApplyResult { row: Some(row), findings, changes })
}

async fn refused(
    devices: &Devices,
    by: &Caller,
    text: &str,
    findings: &[Finding],
    note: &str,
    restores: Option<i64>,
) -> Result<(), StoreError> {
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    let shown: Vec<_> =
        errors.clone().take(MAX_AUDITED_FINDINGS).map(ToString::to_string).collect();
    let body = json!({
        "by": by.user,
        "sha256": Digest::of(text.as_bytes()),
        "size_bytes": text.len(),
        "note": note,
        "restores": restores,
        "errors": errors.count(),
        "findings": shown,
    });
    devices.store.audit_event("policy.refused", body, now_ms()).await
}
