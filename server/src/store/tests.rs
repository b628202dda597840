//! Tests of the store on real files. Shared helpers are here; each subject has its own file.

mod aliases;
mod approvals;
mod asking;
mod audit;
mod batches;
mod calls;
mod certificates;
mod chats;
mod checkpoints;
mod closing;
mod deferring;
mod device_labels;
mod devices;
mod habits;
mod labels;
mod memories;
mod migrations;
mod passkeys;
mod people;
mod plans;
mod policies;
mod redeeming;
mod schedules;
mod standing;
mod statements;
mod stops;
mod waiting;
mod writer;

use std::path::PathBuf;

use orion_domain::rule::Approvers;
use orion_domain::{
    ApprovalId, CallId, CallState, Caller, CanonicalArguments, ConversationId, DeviceId, Digest,
    ErrorCode, Risk, Role, Secret, UserName,
};
use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use tempfile::TempDir;
use uuid::Uuid;

use super::{
    AuditVerdict, Card, CloseCall, ClosedBy, CommittedWith, DecideError, NewApproval, NewCall,
    QueueLimits, Store,
};

/// The error of a person whose role is too low for the request of [`ask`].
fn role_needed(needed: Role) -> DecideError {
    DecideError::Role { needed, rule: "risk: high".to_owned() }
}

/// A store in its own folder.
struct Place {
    dir: TempDir,
    store: Store,
}

impl Place {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("orion.db")).await.unwrap();
        Self { dir, store }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("orion.db")
    }

    /// Closes the store and opens the file again, as a restart does.
    async fn reopened(self) -> Self {
        self.store.close().await;
        let store = Store::open(&self.file()).await.unwrap();
        Self { dir: self.dir, store }
    }

    /// A connection that bypasses the store.
    async fn raw(&self) -> SqliteConnection {
        SqliteConnectOptions::new().filename(self.file()).connect().await.unwrap()
    }

    /// Verifies the audit log and returns its number of rows.
    async fn audited(&self) -> i64 {
        match self.store.verify_audit(None).await.unwrap() {
            AuditVerdict::Whole { rows, .. } => rows,
            broken @ AuditVerdict::Broken { .. } => panic!("{broken:?}"),
        }
    }

    /// Returns kind and body of every row, oldest first.
    async fn audit(&self) -> Vec<(String, Value)> {
        let rows = self.store.audit_export(0, 10_000).await.unwrap();
        rows.into_iter().map(|row| (row.kind, serde_json::from_str(&row.body).unwrap())).collect()
    }

    /// Returns the kind of every row.
    async fn kinds(&self) -> Vec<String> {
        self.audit().await.into_iter().map(|(kind, _)| kind).collect()
    }
}

fn user(name: &str) -> UserName {
    name.parse().unwrap()
}

fn call_id(n: u128) -> CallId {
    CallId::new(Uuid::from_u128(0x0199_0000_0000_7000_8000_0000_0000_0000 + n))
}

fn device_id(n: u128) -> DeviceId {
    DeviceId::new(Uuid::from_u128(0x0198_0000_0000_7000_8000_0000_0000_0000 + n))
}

fn approval_id(n: u128) -> ApprovalId {
    ApprovalId::new(Uuid::from_u128(0x0197_0000_0000_7000_8000_0000_0000_0000 + n))
}

fn conversation_id(n: u128) -> ConversationId {
    ConversationId::new(Uuid::from_u128(0x0196_0000_0000_7000_8000_0000_0000_0000 + n))
}

/// A read-only call in state `received`, at time 1,000.
fn call(n: u128) -> NewCall {
    let arguments = CanonicalArguments::from_value(&json!({"path": "/home/ann/x"}));
    NewCall {
        id: call_id(n),
        conversation: None,
        caller: Caller { user: user("ann"), role: Role::Operator, conversation: None },
        device: Some((device_id(1), "kiosk".parse().unwrap())),
        tool: "read_file".to_owned(),
        arguments: arguments.as_bytes().to_vec(),
        arguments_digest: arguments.digest(),
        dry_run: false,
        recovered: false,
        tainted: false,
        quoted: false,
        content_raises: Vec::new(),
        turn: None,
        touches: vec!["read /home/ann/x".to_owned()],
        decision: "allow".to_owned(),
        rule: "grants: /home/ann".to_owned(),
        policy_version: "v1".to_owned(),
        notes: Vec::new(),
        risk: Some(Risk::Low),
        definition: None,
        undo: None,
        has_effects: false,
        state: CallState::Received,
        idempotency_key: None,
        replaces: None,
        plan: None,
        parent: None,
        is_own_preview: false,
        deadline_at: 61_000,
        queued_until: None,
        created_at: 1_000,
        admitted_at: None,
        token: None,
        secrets: None,
        alias: None,
    }
}

/// Limits that no test reaches.
const ROOM: QueueLimits = QueueLimits { per_device: 1_000, per_person: 1_000 };

fn close(n: u128, state: CallState) -> CloseCall {
    let code = (state != CallState::Succeeded).then_some(ErrorCode::ExecutionFailed);
    CloseCall {
        id: call_id(n),
        state,
        code,
        result: br#"{"success":true}"#.to_vec(),
        duration_us: 250,
        at: 2_000,
        witness: None,
    }
}

/// An approval request for call `n`, created at 1,500, expiring at 5,000.
fn question(n: u128) -> NewApproval {
    NewApproval {
        id: approval_id(n),
        call: call_id(n),
        binding: Digest::of(b"binding"),
        tool: "delete_directory".to_owned(),
        device: (device_id(1), "kiosk".parse().unwrap()),
        arguments: b"{}".to_vec(),
        risk: Risk::High,
        touches: vec!["delete /home/ann/x".to_owned()],
        rule: "risk: high".to_owned(),
        requester: user("ann"),
        conversation: None,
        approvers: Approvers::default(),
        may_stand: false,
        preview: None,
        observed: Vec::new(),
        card: Card::default(),
        standing: None,
        written_by: None,
        plan: None,
        created_at: 1_500,
        expires_at: 5_000,
    }
}

/// Runs statements that bypass the store.
async fn tamper(place: &Place, sql: &'static str) {
    let mut raw = place.raw().await;
    sqlx::raw_sql(sql).execute(&mut raw).await.unwrap();
    raw.close().await.unwrap();
}
