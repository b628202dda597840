//! Looking at a policy file, making it hold, and going back to an older one.

use std::collections::BTreeMap;
use std::sync::Arc;

use orion_domain::{Caller, Digest};
use orion_policy::{Finding, LintContext, PolicyFile, Severity};
use serde_json::json;

use super::changes::{DeviceChange, changes};
use super::{Active, FILE_NAME};
use crate::backend::Backend;
use crate::clock::now_ms;
use crate::fleet::enrollment;
use crate::store::{NewPolicy, PolicyRow, StoreError};

/// How many characters of a note are kept.
const NOTE: usize = 500;
/// How many findings of a refused file the audit holds.
const AUDITED: usize = 20;

/// A file that is new, or one that was accepted before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// Everything is looked at.
    New,
    /// Nothing that changes with time or with the fleet is held against it.
    Accepted,
}

/// What there is to say of a policy file.
#[derive(Debug)]
pub struct Checked {
    /// The file, where it is valid.
    pub file: Option<PolicyFile>,
    /// What is wrong, or worth a look.
    pub findings: Vec<Finding>,
    /// What it would change on which device, where it is valid.
    pub changes: Vec<DeviceChange>,
}

/// What became of a policy file that was to hold.
#[derive(Debug)]
pub struct ApplyResult {
    /// The version that holds, where the file is valid.
    pub row: Option<PolicyRow>,
    /// What is wrong, or worth a look.
    pub findings: Vec<Finding>,
    /// What changes on which device.
    pub changes: Vec<DeviceChange>,
}

/// Looks at a policy file against the one that holds.
///
/// # Errors
/// The work could not be done at all.
pub async fn check(
    backend: &Arc<Backend>,
    text: String,
    kind: Text,
) -> Result<Checked, StoreError> {
    let backend = Arc::clone(backend);
    // A large file takes a while.
    let looking = tokio::task::spawn_blocking(move || inspect(&backend, &text, kind));
    looking.await.map_err(|_| StoreError::Unavailable)
}

fn inspect(backend: &Backend, text: &str, kind: Text) -> Checked {
    let lint_context = match kind {
        Text::Accepted => LintContext::default(),
        Text::New => {
            let known = backend.fleet.all().into_iter().filter(|known| !known.has_ended());
            let devices: BTreeMap<_, _> =
                known.map(|known| (known.name.clone(), known.policy_facts())).collect();
            LintContext { devices: Some(devices), now_ms: Some(now_ms()) }
        }
    };
    let (file, findings) = orion_policy::check(text, FILE_NAME, &lint_context);
    let Some(file) = file else {
        return Checked { file: None, findings, changes: Vec::new() };
    };
    let after = Active { row: None, file: Some(file), findings: Vec::new() };
    let changes = changes(&backend.fleet, &after);
    Checked { file: after.file, findings, changes }
}

/// Makes a policy file hold on every device, if it is valid. What holds already makes no version.
///
/// # Errors
/// [`StoreError::Conflict`] where another version has come since `expected`.
pub async fn apply(
    backend: &Arc<Backend>,
    by: &Caller,
    text: String,
    expected: Option<i64>,
    note: &str,
) -> Result<ApplyResult, StoreError> {
    let (shared, by, note) = (Arc::clone(backend), by.clone(), note.to_owned());
    backend
        .run_to_completion(async move { apply_whole(&shared, &by, text, expected, &note).await })
        .await
}

async fn apply_whole(
    backend: &Arc<Backend>,
    by: &Caller,
    text: String,
    expected: Option<i64>,
    note: &str,
) -> Result<ApplyResult, StoreError> {
    let _turn = backend.policies.turn.lock().await;
    let active = backend.policies.active();
    if expected.is_some_and(|expected| expected != active.version()) {
        return Err(StoreError::Conflict);
    }
    let checked = check(backend, text.clone(), Text::New).await?;
    if checked.file.is_some()
        && !active.is_unreadable()
        && let Some(row) = active.row.as_ref().filter(|row| row.text == text)
    {
        // Nothing is new but for devices that could not take it in when it was.
        enrollment::refresh_all(backend).await;
        let Checked { findings, changes, .. } = checked;
        return Ok(ApplyResult { row: Some(row.clone()), findings, changes });
    }
    put(backend, by, text, checked, note, None).await
}

/// Makes a new version with an older one's text.
///
/// # Errors
/// [`StoreError::NotFound`]: there is no such version.
pub async fn roll_back(
    backend: &Arc<Backend>,
    by: &Caller,
    version: i64,
    note: &str,
) -> Result<ApplyResult, StoreError> {
    let (shared, by, note) = (Arc::clone(backend), by.clone(), note.to_owned());
    let work = async move {
        let _turn = shared.policies.turn.lock().await;
        let row = shared.store.policy(version).await?;
        let checked = check(&shared, row.text.clone(), Text::Accepted).await?;
        put(&shared, &by, row.text, checked, &note, Some(version)).await
    };
    backend.run_to_completion(work).await
}

async fn put(
    backend: &Arc<Backend>,
    by: &Caller,
    text: String,
    checked: Checked,
    note: &str,
    restores: Option<i64>,
) -> Result<ApplyResult, StoreError> {
    let Checked { file, findings, changes } = checked;
    let note: String = note.chars().filter(|c| !orion_domain::is_hidden(*c)).take(NOTE).collect();
    if file.is_none() {
        refused(backend, by, &text, &findings, &note, restores).await?;
        return Ok(ApplyResult { row: None, findings, changes });
    }
    let new = NewPolicy {
        text,
        by: by.user.clone(),
        note,
        follows: backend.policies.active().version(),
        restores,
        changes: json!(changes),
    };
    let row = backend.store.apply_policy(new, now_ms()).await?;
    tracing::info!(version = row.version, by = %row.by, "a policy holds");
    backend.policies.set(Active { row: Some(row.clone()), file, findings: Vec::new() });
    enrollment::refresh_all(backend).await;
    Ok(ApplyResult { row: Some(row), findings, changes })
}

async fn refused(
    backend: &Backend,
    by: &Caller,
    text: &str,
    findings: &[Finding],
    note: &str,
    restores: Option<i64>,
) -> Result<(), StoreError> {
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    let shown: Vec<_> = errors.clone().take(AUDITED).map(ToString::to_string).collect();
    let body = json!({
        "by": by.user,
        "sha256": Digest::of(text.as_bytes()),
        "size_bytes": text.len(),
        "note": note,
        "restores": restores,
        "errors": errors.count(),
        "findings": shown,
    });
    backend.store.audit_event("policy.refused", body, now_ms()).await
}
