//! Verifies the chain from its first row to its head, with the checkpoints that sign it.

use std::collections::BTreeMap;
use std::path::Path;

use orion_audit::VerifierKey;
use orion_audit::merkle::{Tree, leaf};
use orion_audit::verify::check;
use orion_domain::audit::{AuditHead, AuditRow, Break, Verifier};

use super::{AuditVerdict, page};
use crate::store::db::{FromRow as _, HEAD, HeadRow, Snapshot, sql};
use crate::store::{CheckpointRow, StoreError};

/// How many rows are read at a time.
const PAGE: u32 = 4096;
/// The next step if a database is not the one that was signed last.
const WAY_ON: &str = "put back the record that was there, or restore a backup; where neither can be, \
    `orion-server audit reset-signing` goes on and says so in the audit";

/// What a database is verified against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustAnchor {
    /// The key that signs it.
    pub key: VerifierKey,
    /// The last signed checkpoint, which is kept beside the key and not in the database. None if no
    /// checkpoint was kept yet. Its number of rows is unverified and checked with the rest of the note.
    pub head: Option<CheckpointRow>,
}

impl TrustAnchor {
    /// Checks that the tree matches the last signed checkpoint, if both have the same number of rows.
    ///
    /// # Errors
    /// [`Break::Checkpoint`].
    pub fn reached(&self, tree: &Tree) -> Result<(), Break> {
        let rows = i64::try_from(tree.size()).unwrap_or(i64::MAX);
        match self.head.as_ref().filter(|head| head.size == rows) {
            Some(CheckpointRow { note, .. }) => check(&self.key, note, tree).map_err(otherwise),
            None => Ok(()),
        }
    }

    /// Checks that the database has all the rows that were signed.
    ///
    /// # Errors
    /// [`Break::Checkpoint`].
    pub fn finish(&self, rows: i64) -> Result<(), Break> {
        match self.head.as_ref().filter(|head| head.size > rows) {
            Some(CheckpointRow { size, .. }) => Err(otherwise(Break::Checkpoint {
                seq: rows,
                why: format!("{size} rows were signed, and those behind are not there"),
            })),
            None => Ok(()),
        }
    }
}

fn otherwise(broken: Break) -> Break {
    match broken {
        Break::Checkpoint { seq, why } => {
            Break::Checkpoint { seq, why: format!("{why} (audit.head, beside the key); {WAY_ON}") }
        }
        Break::Changed { .. } | Break::Unlinked { .. } | Break::Head { .. } => broken,
    }
}

/// Verifies the chain of a database against what was signed, without changing it. A backend may have the
/// database open.
///
/// # Errors
/// The database does not exist or cannot be read at all.
pub async fn verify_file(
    path: &Path,
    held: Option<&TrustAnchor>,
) -> Result<AuditVerdict, StoreError> {
    let mut snapshot = Snapshot::open(path).await?;
    let verdict = follow(&mut snapshot, held).await;
    snapshot.close().await?;
    verdict
}

async fn follow(
    snapshot: &mut Snapshot,
    held: Option<&TrustAnchor>,
) -> Result<AuditVerdict, StoreError> {
    // A head that cannot be read is no head.
    let recorded: Vec<HeadRow> = snapshot.query(sql(HEAD)).await?;
    let recorded = recorded.into_iter().next().and_then(HeadRow::head);
    let mut signed = match held {
        Some(held) => Some(Signed::read(snapshot, held).await?),
        None => None,
    };
    let mut verifier = Verifier::new();
    let (mut good, mut last) = (0, i64::MIN);
    loop {
        let rows = snapshot.rows(page(last, PAGE)).await?;
        let Some(newest) = rows.last() else { break };
        last = newest.get("seq")?;
        for row in &rows {
            let followed = match AuditRow::from_row(row) {
                Ok(row) => verifier.next(&row).and_then(|()| match &mut signed {
                    Some(signed) => signed.row(&row),
                    None => Ok(()),
                }),
                // A column that cannot be decoded was changed.
                Err(_) => Err(Break::Changed { seq: row.get("seq")? }),
            };
            if let Err(broken) = followed {
                return Ok(AuditVerdict::Broken { broken, rows: good });
            }
            good += 1;
        }
        // The rows come from a thread of the database's driver, so nothing above ever waits for long.
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

/// The checkpoints of a database, checked while its rows are read.
struct Signed<'h> {
    held: &'h TrustAnchor,
    notes: BTreeMap<i64, String>,
    tree: Tree,
    checked: u64,
}

impl<'h> Signed<'h> {
    async fn read(snapshot: &mut Snapshot, held: &'h TrustAnchor) -> Result<Self, StoreError> {
        let notes: Vec<(i64, String)> =
            snapshot.query(sql("SELECT size, note FROM audit_checkpoints")).await?;
        let notes = notes.into_iter().collect();
        Ok(Self { held, notes, tree: Tree::default(), checked: 0 })
    }

    fn row(&mut self, row: &AuditRow) -> Result<(), Break> {
        self.tree.push(leaf(&row.canonical()));
        if let Some(note) = self.notes.remove(&row.seq) {
            check(&self.held.key, &note, &self.tree)?;
            self.checked += 1;
        }
        self.held.reached(&self.tree)
    }

    fn finish(self, rows: i64) -> Result<u64, Break> {
        self.held.finish(rows)?;
        match self.notes.first_key_value() {
            None => Ok(self.checked),
            Some((size, _)) => Err(Break::Checkpoint {
                seq: rows,
                why: format!("{size} rows were signed; those behind were removed"),
            }),
        }
    }
}
