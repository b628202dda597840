//! Following the chain from its first row to its head, with the checkpoints that were signed over it.

use std::collections::BTreeMap;
use std::path::Path;

use orion_audit::VerifierKey;
use orion_audit::merkle::{Tree, leaf};
use orion_audit::verify::check;
use orion_domain::audit::{AuditHead, AuditRow, Break, Verifier};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _, Row as _};

use super::{AuditVerdict, audit_row, page, recorded_head};
use crate::store::{BUSY_TIMEOUT, StoreError};

/// How many rows are read at a time.
const PAGE: i64 = 4096;

/// Follows the chain of a record that no backend need have open, without changing it, and checks the
/// checkpoints that were signed with this key.
///
/// # Errors
/// There is no record there, or it cannot be read at all.
pub async fn verify_file(
    path: &Path,
    key: Option<&VerifierKey>,
) -> Result<AuditVerdict, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging();
    let mut connection = options.connect().await?;
    let mut snapshot = connection.begin().await?;
    let verdict = follow(&mut snapshot, key).await;
    snapshot.rollback().await?;
    connection.close().await?;
    verdict
}

pub(super) async fn follow(
    connection: &mut SqliteConnection,
    key: Option<&VerifierKey>,
) -> Result<AuditVerdict, StoreError> {
    let recorded = recorded_head(connection).await?;
    let mut signed = match key {
        Some(key) => Signed::read(connection, key).await?,
        None => None,
    };
    let mut verifier = Verifier::new();
    let (mut good, mut last) = (0, i64::MIN);
    loop {
        let rows = page(connection, last, PAGE).await?;
        let Some(newest) = rows.last() else { break };
        last = newest.try_get(0)?;
        for row in &rows {
            let followed = match audit_row(row) {
                Ok(row) => verifier.next(&row).and_then(|()| match &mut signed {
                    Some(signed) => signed.row(&row),
                    None => Ok(()),
                }),
                // A column that no longer holds what it should was changed.
                Err(_) => Err(Break::Changed { seq: row.try_get(0)? }),
            };
            if let Err(broken) = followed {
                return Ok(AuditVerdict::Broken { broken, rows: good });
            }
            good += 1;
        }
        // The rows come from a thread of their own, so that nothing above ever waits for long.
        tokio::task::yield_now().await;
    }
    let head = recorded.unwrap_or(AuditHead::EMPTY);
    let finished = verifier
        .finish(head)
        .and_then(|rows| Ok((rows, signed.map_or(Ok(0), |signed| signed.finish(rows))?)));
    Ok(match finished {
        Ok((rows, checkpoints)) => AuditVerdict::Whole { rows, head, checkpoints },
        Err(broken) => AuditVerdict::Broken { broken, rows: good },
    })
}

/// The checkpoints of a record, checked while its rows go by.
struct Signed<'k> {
    key: &'k VerifierKey,
    notes: BTreeMap<i64, String>,
    tree: Tree,
    checked: u64,
}

impl<'k> Signed<'k> {
    /// None where the tables are older than checkpoints.
    async fn read(
        connection: &mut SqliteConnection,
        key: &'k VerifierKey,
    ) -> Result<Option<Self>, StoreError> {
        let there: Option<(i64,)> =
            sqlx::query_as("SELECT 1 FROM sqlite_master WHERE name = 'audit_checkpoints'")
                .fetch_optional(&mut *connection)
                .await?;
        if there.is_none() {
            return Ok(None);
        }
        let notes: Vec<(i64, String)> = sqlx::query_as("SELECT size, note FROM audit_checkpoints")
            .fetch_all(connection)
            .await?;
        let notes = notes.into_iter().collect();
        Ok(Some(Self { key, notes, tree: Tree::default(), checked: 0 }))
    }

    fn row(&mut self, row: &AuditRow) -> Result<(), Break> {
        self.tree.push(leaf(&row.canonical()));
        if let Some(note) = self.notes.remove(&row.seq) {
            check(self.key, &note, &self.tree)?;
            self.checked += 1;
        }
        Ok(())
    }

    fn finish(self, rows: i64) -> Result<u64, Break> {
        match self.notes.first_key_value() {
            None => Ok(self.checked),
            Some((size, _)) => Err(Break::Checkpoint {
                seq: rows,
                why: format!("{size} rows were signed; those behind were removed"),
            }),
        }
    }
}
