//! Reads the backend's database from outside, and checks its invariants.

use std::collections::BTreeMap;
use std::path::Path;

use orion_domain::{Digest, Role};
use orion_server::store::{AuditVerdict, verify_file};
use orion_wire::v1;
use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

use crate::client::Client;
use crate::now_ms;

/// The rows about one call: how often it was opened, closed and completed later.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Rows {
    opened: u32,
    closed: u32,
    reconciled: u32,
}

/// Asserts the invariants of a stopped backend's database.
///
/// # Panics
/// A call's audit was not opened and closed exactly once, or the chain is broken.
pub(crate) fn assert_closed_and_whole(database: &Path) {
    let database = database.to_owned();
    // A separate runtime, because the caller's may be about to end.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(look(&database));
    })
    .join()
    .expect("the record keeps its promises");
}

async fn look(database: &Path) {
    let mut connection = open_record(database).await;
    let kinds: Vec<(String, String)> = sqlx::query_as(
        "SELECT call_id, kind FROM audit \
         WHERE kind IN ('call.opened', 'call.closed', 'call.reconciled') ORDER BY seq",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    let mut calls: BTreeMap<String, Rows> = BTreeMap::new();
    for (call, kind) in kinds {
        let rows = calls.entry(call).or_default();
        match kind.as_str() {
            "call.opened" => rows.opened += 1,
            "call.closed" => rows.closed += 1,
            _ => rows.reconciled += 1,
        }
    }
    let states: Vec<(String, String)> = sqlx::query_as("SELECT id, state FROM calls ORDER BY id")
        .fetch_all(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();

    let ids: Vec<_> = states.iter().map(|(id, _)| id).collect();
    assert_eq!(ids, calls.keys().collect::<Vec<_>>(), "every call is in the audit, and no other");
    for (id, state) in &states {
        let rows = calls[id];
        let closed = u32::from(state != "awaiting_approval");
        let promised = Rows { opened: 1, closed, reconciled: rows.reconciled.min(closed) };
        assert_eq!(rows, promised, "the audit of call {id}, which is {state}");
    }
    match verify_file(database, None).await.unwrap() {
        AuditVerdict::Whole { .. } => {}
        AuditVerdict::Broken { broken, .. } => panic!("{broken}"),
    }
}

/// Opens the backend's database while the backend runs.
///
/// # Panics
/// It cannot be opened.
pub async fn open_record(database: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(database)
        .busy_timeout(std::time::Duration::from_secs(10));
    SqliteConnection::connect_with(&options).await.unwrap()
}

/// Returns the number of commits in the database's write-ahead log: the frames that contain the database
/// size.
///
/// # Panics
/// The log cannot be read.
#[must_use]
pub fn commits(database: &Path) -> usize {
    const HEADER: usize = 32;
    const FRAME: usize = 24;
    let log = std::fs::read(format!("{}-wal", database.display())).unwrap();
    let number = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().unwrap());
    let (page, salt) = (usize::try_from(number(8)).unwrap(), number(16));
    let frames = (HEADER..log.len()).step_by(FRAME + page);
    let whole = frames.filter(|at| at + FRAME + page <= log.len());
    // A frame with another salt is left over from an earlier log.
    whole.take_while(|at| number(at + 8) == salt).filter(|at| number(at + 4) != 0).count()
}

/// Returns the audit's rows about one call, oldest first.
///
/// # Panics
/// The backend does not return them.
pub async fn audit_of(admin: &Client, call_id: &str) -> Vec<v1::AuditRow> {
    let request = v1::ListAuditRequest { call_id: call_id.to_owned(), ..Default::default() };
    let mut rows = admin.audit().list_audit(request).await.unwrap().into_inner().rows;
    rows.reverse();
    rows
}

/// Inserts a person with a token directly into the database.
pub(crate) async fn add_person(database: &Path, name: &str, role: Role, hash: Digest) {
    let mut connection = open_record(database).await;
    let now = now_ms();
    sqlx::query("INSERT INTO users (name, role, created_at) VALUES ($1, $2, $3)")
        .bind(name)
        .bind(role.as_str())
        .bind(now)
        .execute(&mut connection)
        .await
        .unwrap();
    sqlx::query(
        "INSERT INTO tokens (hash, user_name, scopes, created_at, expires_at) \
         VALUES ($1, $2, 'session', $3, $4)",
    )
    .bind(hash.as_bytes().to_vec())
    .bind(name)
    .bind(now)
    .bind(now + 3_600_000)
    .execute(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();
}

/// Changes one byte of one row's body in the audit.
///
/// # Panics
/// There is no such row.
pub async fn change_one_byte(database: &Path, seq: i64) {
    let mut connection = open_record(database).await;
    let (body,): (String,) = sqlx::query_as("SELECT body FROM audit WHERE seq = $1")
        .bind(seq)
        .fetch_one(&mut connection)
        .await
        .unwrap();
    // The first letter becomes the next one: still JSON, still the same length.
    let at = body.find(|c: char| c.is_ascii_lowercase()).unwrap();
    let mut bytes = body.into_bytes();
    bytes[at] = if bytes[at] == b'z' { b'a' } else { bytes[at] + 1 };
    let changed = sqlx::query("UPDATE audit SET body = $1 WHERE seq = $2")
        .bind(String::from_utf8(bytes).unwrap())
        .bind(seq)
        .execute(&mut connection)
        .await
        .unwrap();
    assert_eq!(changed.rows_affected(), 1);
    connection.close().await.unwrap();
}
