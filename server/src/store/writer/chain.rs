//! Appends to the audit chain, inside the writer's transaction.

use std::sync::LazyLock;

use orion_domain::Digest;
use orion_domain::audit::{AuditHead, AuditRow};
use sqlx::sqlite::SqliteConnection;

use super::Event;
use crate::store::StoreError;

/// How many rows one statement inserts; the largest size that fits is used first.
const SIZES: [usize; 3] = [16, 4, 1];

/// For each size the statement, and the same with COMMIT appended: every statement costs two thread
/// switches, and a separate COMMIT can be saved.
static INSERTS: LazyLock<[(String, String); 3]> = LazyLock::new(|| {
    SIZES.map(|rows| {
        let insert = insert(rows);
        let and_commit = format!("{insert}; COMMIT");
        (insert, and_commit)
    })
});

fn insert(rows: usize) -> String {
    let row = |row: usize| {
        let columns: Vec<_> = (1..=7).map(|column| format!("${}", row * 7 + column)).collect();
        format!("({})", columns.join(","))
    };
    format!(
        "INSERT INTO audit (seq, at, kind, call_id, body, prev_hash, hash) VALUES {}",
        (0..rows).map(row).collect::<Vec<_>>().join(",")
    )
}

/// Reads the stored end of the chain.
pub(super) async fn head(conn: &mut SqliteConnection) -> Result<AuditHead, StoreError> {
    let row: Option<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT seq, hash FROM audit_head").fetch_optional(conn).await?;
    let (seq, hash) = row.ok_or(StoreError::Corrupt)?;
    let hash = Digest::from_slice(&hash).ok_or(StoreError::Corrupt)?;
    Ok(AuditHead { seq, hash })
}

/// Links the events to the chain, ends the transaction and returns the chain's new end. A trigger of the
/// table stores the end.
pub(super) async fn append_and_commit(
    conn: &mut SqliteConnection,
    mut head: AuditHead,
    events: Vec<Event>,
) -> Result<AuditHead, StoreError> {
    if events.is_empty() {
        sqlx::query("COMMIT").execute(conn).await?;
        return Ok(head);
    }
    let mut rows = Vec::with_capacity(events.len());
    for Event { at, kind, call_id, body } in events {
        let row = AuditRow::link(head, at, kind, &call_id, body);
        head = row.head();
        rows.push(row);
    }
    let mut rows = rows.into_iter();
    for (size, (insert, and_commit)) in SIZES.into_iter().zip(INSERTS.iter()) {
        while rows.len() >= size {
            let sql = if rows.len() == size { and_commit } else { insert };
            put(conn, sql, rows.by_ref().take(size)).await?;
        }
    }
    Ok(head)
}

async fn put(
    conn: &mut SqliteConnection,
    sql: &'static str,
    rows: impl Iterator<Item = AuditRow>,
) -> Result<(), StoreError> {
    let mut query = sqlx::query(sql);
    for row in rows {
        query = query
            .bind(row.seq)
            .bind(row.at)
            .bind(row.kind)
            .bind(row.call_id)
            .bind(row.body)
            .bind(row.prev_hash.as_bytes().to_vec())
            .bind(row.hash.as_bytes().to_vec());
    }
    query.execute(conn).await?;
    Ok(())
}
