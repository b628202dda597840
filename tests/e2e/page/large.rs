//! A database of a large fleet, written by the backend's own store: a thousand devices, and calls with their audit rows.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use orion_domain::id::InviteId;
use orion_domain::{
    CallId, CallState, Caller, CanonicalArguments, DeviceId, DeviceName, Digest, ErrorCode, Role,
};
use orion_policy::Labels;
use orion_server::store::{Candidate, CloseCall, ClosedBy, InviteScope, NewCall, NewInvite, Store};
use orion_tests::{Launch, Process, eventually, now_ms, program};
use serde_json::json;
use tokio::task::JoinSet;
use uuid::Uuid;

/// How many devices there are.
pub(super) const DEVICES: usize = 1_000;
/// How many calls are written at once, so that they are committed in groups.
const AT_ONCE: usize = 256;
/// How far apart the calls were made, in milliseconds.
const APART_MS: i64 = 10_000;

/// Lets the backend make its keys and its database.
pub(super) async fn begin(folder: &Path, data: &Path) {
    let config = folder.join("begin.toml");
    let text = "[people]\nlisten = \"127.0.0.1:0\"\n[devices]\nlisten = \"127.0.0.1:0\"\n";
    std::fs::write(&config, text).unwrap();
    let [run, with, at] = ["run", "--config", "--data-dir"].map(OsStr::new);
    let arguments = [run, with, config.as_os_str(), at, data.as_os_str()];
    let launch = Launch { arguments: &arguments, ..Launch::default() };
    let backend = Process::start(&program("orion-server"), &folder.join("begin.log"), &launch);
    let listens = async || data.join("addresses.toml").is_file().then_some(());
    eventually("the backend listens", listens).await;
    backend.stop().await;
}

/// Writes the database. Each call has two audit rows: where it opens and where it closes.
pub(super) async fn fill(database: &Path, audit_rows: usize) {
    let store = Store::open(database).await.unwrap();
    let now = now_ms();
    let devices = enrol(&store, now).await;
    let calls = audit_rows / 2;
    let mut writing = JoinSet::new();
    for index in 0..calls {
        if writing.len() >= AT_ONCE {
            writing.join_next().await.unwrap().unwrap();
        }
        let store = store.clone();
        let device = devices[index % devices.len()].clone();
        let at = now - i64::try_from(calls - index).unwrap() * APART_MS;
        writing.spawn(async move {
            let (new, close) = call(index, device, at);
            if close.state == CallState::Denied {
                store.open_and_close_call(new, close).await.unwrap();
            } else {
                store.open_call(new).await.unwrap();
                assert!(store.close_call(close, ClosedBy::Device).await.unwrap());
            }
        });
    }
    while let Some(done) = writing.join_next().await {
        done.unwrap();
    }
    store.close().await;
}

async fn enrol(store: &Store, now: i64) -> Vec<(DeviceId, DeviceName)> {
    let invite = NewInvite {
        id: InviteId::new(Uuid::now_v7()),
        secret_hash: Digest::of(b"secret"),
        name: None,
        uses: u32::try_from(DEVICES).unwrap(),
        preapproved: true,
        grants: r#"{"profile":"reader","paths":[{"path":"~/Documents","access":["read"]}]}"#
            .to_owned(),
        labels: Labels::default(),
        scope: InviteScope::default(),
        created_by: "admin".parse().unwrap(),
        created_at: now,
        expires_at: now + 3_600_000,
    };
    store.create_invite(invite.clone()).await.unwrap();
    let mut devices = Vec::with_capacity(DEVICES);
    for index in 0..DEVICES {
        let name: DeviceName =
            format!("{}-{index:04}", ["kiosk", "laptop", "server"][index % 3]).parse().unwrap();
        let candidate = Candidate {
            id: DeviceId::new(Uuid::now_v7()),
            invite: invite.id,
            secret_hash: invite.secret_hash,
            own_name: name.clone(),
            public_key_fingerprint: format!("{:064x}", index + 1),
            fingerprint_words: "able acid also apex aqua arch".to_owned(),
            certificate_request: String::new(),
            ticket_hash: Digest::of(&index.to_be_bytes()),
            may_come_again: false,
            policy_names: BTreeSet::new(),
            hostname: format!("{name}.home.example"),
            os: "linux".to_owned(),
            platform: "linux-x86_64".to_owned(),
            address: [127, 0, 0, 1].into(),
            at: now,
        };
        let device = store.enroll_device(candidate).await.unwrap().device;
        devices.push((device.id, device.name));
    }
    devices
}

/// A call of a mixed day: reads, writes, and one in ten that was denied.
fn call(index: usize, device: (DeviceId, DeviceName), at: i64) -> (NewCall, CloseCall) {
    let (seconds, nanos) = (u64::try_from(at / 1000).unwrap(), u32::try_from(at % 1000).unwrap());
    let stamp = uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos * 1_000_000);
    let is_denied = index % 10 == 7;
    let path = format!("/home/ann/Documents/{}/report-{index}.txt", index % 40);
    let tool = ["read_file", "list_directory", "write_file", "search_files"][index % 4];
    let arguments = CanonicalArguments::from_value(&json!({ "path": path }));
    let caller = Caller {
        user: ["ann", "bob", "admin"][index % 3].parse().unwrap(),
        role: Role::Operator,
        conversation: None,
    };
    let new = NewCall {
        id: CallId::new(Uuid::new_v7(stamp)),
        conversation: None,
        caller,
        device: Some(device),
        tool: tool.to_owned(),
        arguments: arguments.as_bytes().to_vec(),
        arguments_digest: arguments.digest(),
        dry_run: false,
        recovered: false,
        tainted: false,
        quoted: false,
        content_raises: Vec::new(),
        turn: None,
        parent: None,
        touches: Vec::new(),
        decision: if is_denied { "deny" } else { "allow" }.to_owned(),
        rule: String::new(),
        policy_version: String::new(),
        notes: Vec::new(),
        risk: None,
        definition: None,
        undo: None,
        has_effects: tool == "write_file",
        state: if is_denied { CallState::Received } else { CallState::Dispatched },
        idempotency_key: None,
        replaces: None,
        plan: None,
        is_own_preview: false,
        deadline_at: at + 30_000,
        queued_until: None,
        created_at: at,
        admitted_at: (!is_denied).then_some(at),
        token: None,
        secrets: None,
        alias: None,
    };
    let close = CloseCall {
        id: new.id,
        state: if is_denied { CallState::Denied } else { CallState::Succeeded },
        code: is_denied.then_some(ErrorCode::PermissionDenied),
        result: Vec::new(),
        duration_us: 4_000,
        witness: None,
        at: at + 40,
    };
    (new, close)
}
