//! The audit chain's end: read in the transaction, or checked there, and moved with the entries that are
//! linked to it.

use std::sync::LazyLock;

use orion_domain::Digest;
use orion_domain::audit::{AuditHead, AuditRow};

use super::{AuditEvent, DecodeError, FromRow, Row, Statement, sql};

/// Reads the end of the chain.
pub(in crate::store) const HEAD: &str = "SELECT seq, hash FROM audit_head";

/// Moves the end of the chain, if it is where the entries were linked to.
const MOVE: &str = "UPDATE audit_head SET seq = $1, hash = $2 WHERE seq = $3 AND hash = $4";

/// How many entries one statement inserts at most.
const MAX_ROWS: usize = 16;

/// For each number of entries the statement that inserts them.
static INSERTS: LazyLock<Vec<String>> = LazyLock::new(|| (1..=MAX_ROWS).map(insert).collect());

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

/// The stored end of the chain.
#[derive(Debug)]
pub(in crate::store) struct HeadRow {
    seq: i64,
    hash: Vec<u8>,
}

impl HeadRow {
    /// Returns the end. None if what is stored is not a hash.
    pub(in crate::store) fn head(self) -> Option<AuditHead> {
        Some(AuditHead { seq: self.seq, hash: Digest::from_slice(&self.hash)? })
    }
}

impl FromRow for HeadRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self { seq: row.get("seq")?, hash: row.get("hash")? })
    }
}

/// Returns the statement that reads the hash of an entry.
pub(super) fn hash_at(seq: i64) -> Statement {
    sql("SELECT seq, hash FROM audit WHERE seq = $1").bind(seq)
}

/// Links the events to the chain's end `before`. Returns its new end, and the statements that insert them and
/// move the stored end: the last of them changes no row if that is not `stored`.
pub(super) fn link(
    before: AuditHead,
    stored: AuditHead,
    events: Vec<AuditEvent>,
) -> (AuditHead, Vec<Statement>) {
    let mut head = before;
    let mut rows = Vec::with_capacity(events.len());
    for AuditEvent { at, kind, call_id, body } in events {
        let row = AuditRow::link(head, at, kind, &call_id, body);
        head = row.head();
        rows.push(row);
    }
    let mut statements = Vec::new();
    while !rows.is_empty() {
        let after = rows.split_off(rows.len().min(MAX_ROWS));
        statements.extend(append(std::mem::replace(&mut rows, after)));
    }
    if head != before {
        let moved = sql(MOVE).bind(head.seq).bind(head.hash).bind(stored.seq).bind(stored.hash);
        statements.push(moved.exactly(1));
    }
    (head, statements)
}

fn append(rows: Vec<AuditRow>) -> Option<Statement> {
    let insert = sql(INSERTS.get(rows.len().checked_sub(1)?)?);
    Some(rows.into_iter().fold(insert, |insert, row| {
        insert
            .bind(row.seq)
            .bind(row.at)
            .bind(row.kind)
            .bind(row.call_id)
            .bind(row.body)
            .bind(row.prev_hash)
            .bind(row.hash)
    }))
}
