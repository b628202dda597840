//! Commits a group of changes: at once where all of them are batches and few, one by one otherwise.
//!
//! At once means one command: the transaction, every statement with the check of its rows, the audit
//! entries and the commit. It assumes that every change will succeed and that the chain ends where it ended
//! last; where that is not so nothing is kept, and the changes are made one by one.

use std::path::{Path, PathBuf};

use orion_domain::audit::AuditHead;

use super::Tx;
use crate::store::StoreError;
use crate::store::db::chain::{self, HeadRow};
use crate::store::db::connection::{Connection, ScriptError};
use crate::store::db::job::{BatchJob, Change, Job};
use crate::store::db::script::{BEGIN, COMMIT, Outcome, RELEASE, ROLLBACK, SAVE, Script, UNDO};
use crate::store::db::statement::{ExpectedRows, Statement};
use crate::store::db::{Applied, Batch, Durability, row, sql, sqlite};

/// How many batches are committed at once. With more, their texts would be too many to keep prepared.
const MAX_AT_ONCE: usize = 2;

/// The writer's connection and what is known of it.
pub(super) struct Committer {
    path: PathBuf,
    tx: Tx,
    /// The end of the chain after the last commit.
    head: AuditHead,
    /// The connection's setting. None if it is not known.
    synchronous: Option<Durability>,
    /// Whether the connection's state is not known, even whether it is in a transaction.
    is_broken: bool,
}

impl Committer {
    /// Reads the end of the chain.
    pub(super) async fn start(path: &Path, conn: Connection) -> Result<Self, StoreError> {
        let mut tx = Tx { conn, events: Vec::new() };
        let head: Option<HeadRow> = tx.query_optional(sql(chain::HEAD)).await?;
        let head = head.and_then(HeadRow::head).ok_or(StoreError::Corrupt)?;
        let path = path.to_owned();
        Ok(Self { path, tx, head, synchronous: None, is_broken: false })
    }

    /// Commits a group as a whole. Returns the end of the chain if it survives a power cut.
    pub(super) async fn commit(
        &mut self,
        group: &mut [Job],
    ) -> Result<Option<AuditHead>, StoreError> {
        let durability = group.iter().map(|job| job.durability).max().unwrap_or(Durability::Fsync);
        let committed = match self.at_once(group, durability).await {
            Ok(None) => self.one_by_one(group, durability).await,
            Ok(Some(head)) => Ok(head),
            Err(error) => Err(error),
        };
        match committed {
            Ok(head) => {
                // A transaction that wrote nothing does not wait for the disk.
                let is_synced = durability == Durability::Fsync && head != self.head;
                self.head = head;
                self.synchronous = Some(durability);
                Ok(is_synced.then_some(head))
            }
            Err(error) => {
                self.is_broken = true;
                // SQLite may have rolled back by itself; this fails then.
                self.tx.conn.command(ROLLBACK).await.ok();
                Err(error)
            }
        }
    }

    /// Returns the start of a group's transaction. With a write-ahead log, NORMAL writes at each commit and
    /// FULL also waits for the disk.
    fn begin(&self, durability: Durability) -> Script {
        let script = Script::default();
        if self.synchronous == Some(durability) {
            return script.command(BEGIN);
        }
        let setting = match durability {
            Durability::Commit => "PRAGMA synchronous = NORMAL",
            Durability::Fsync => "PRAGMA synchronous = FULL",
        };
        script.command(setting).command(BEGIN)
    }

    /// Commits the group with one command. None if it has to be committed one by one.
    async fn at_once(
        &mut self,
        group: &mut [Job],
        durability: Durability,
    ) -> Result<Option<AuditHead>, StoreError> {
        if self.is_broken || group.len() > MAX_AT_ONCE {
            return Ok(None);
        }
        let before = self.head;
        let mut script = self.begin(durability);
        let mut events = Vec::new();
        let mut ranges = Vec::with_capacity(group.len());
        for job in &*group {
            let Change::Batch(BatchJob { batch, .. }) = &job.change else { return Ok(None) };
            let first = script.len;
            script = script.statements(batch.statements.iter().cloned());
            ranges.push(first..script.len);
            events.extend(batch.events.iter().cloned());
        }
        let (head, chain) = chain::link(before, before, events);
        let (changes, script) = (script.len, script.statements(chain).command(COMMIT));
        match self.tx.conn.run(script).await {
            Ok(mut outcomes) => {
                for (job, range) in group.iter_mut().zip(ranges) {
                    if let Change::Batch(job) = &mut job.change {
                        job.result = Ok(done(outcomes.get_mut(range).unwrap_or_default()));
                    }
                }
                Ok(Some(head))
            }
            Err(stopped) if is_fatal(stopped.error) => Err(stopped.error),
            Err(stopped) => {
                self.tx.conn.command(ROLLBACK).await?;
                self.synchronous = None;
                if stopped.statement >= changes {
                    // The chain does not end where it did: what that means is found out there.
                    return Ok(None);
                }
                match (group, ranges.as_slice()) {
                    ([Job { change: Change::Batch(job), .. }], [range]) => {
                        job.result = failed(&job.batch, &stopped, range.start);
                        Ok(Some(before))
                    }
                    _ => Ok(None),
                }
            }
        }
    }

    /// Commits the group with a command for each batch and one for each statement of other work. The end of
    /// the chain is read in the transaction.
    async fn one_by_one(
        &mut self,
        group: &mut [Job],
        durability: Durability,
    ) -> Result<AuditHead, StoreError> {
        if self.is_broken {
            let conn = sqlite::writing(&self.path).await?;
            self.tx.conn = conn.counting(self.tx.conn.count());
            (self.is_broken, self.synchronous) = (false, None);
        }
        self.tx.events.clear();
        let begin = self.begin(durability).command(chain::HEAD);
        let outcomes = self.tx.conn.run(begin).await.map_err(|stopped| stopped.error)?;
        let rows = outcomes.into_iter().next_back().unwrap_or_default().rows;
        let stored: Option<HeadRow> = row::first(rows)?;
        let stored = stored.and_then(HeadRow::head).ok_or(StoreError::Corrupt)?;
        let head = self.follow(stored).await?;
        let alone = group.len() == 1;
        let mut is_void = false;
        for job in group {
            let events = self.tx.events.len();
            let is_kept = match &mut job.change {
                Change::Batch(job) => self.batch(job, alone).await?,
                Change::Work(work) => {
                    if !alone {
                        self.tx.conn.command(SAVE).await?;
                    }
                    match work.run(&mut self.tx).await {
                        Ok(()) => true,
                        Err(error) if is_fatal(error) => return Err(error),
                        Err(_) => false,
                    }
                }
            };
            let is_work = matches!(job.change, Change::Work(_));
            if !is_kept {
                self.tx.events.truncate(events);
                is_void = alone;
            }
            if !alone && (is_work || !is_kept) {
                let script = Script::default();
                let script = if is_kept { script } else { script.command(UNDO) };
                let left = self.tx.conn.run(script.command(RELEASE)).await;
                left.map_err(|stopped| stopped.error)?;
            }
        }
        if is_void {
            self.tx.conn.command(ROLLBACK).await?;
            return Ok(head);
        }
        let (head, chain) = chain::link(head, stored, std::mem::take(&mut self.tx.events));
        let end = Script::default().statements(chain).command(COMMIT);
        self.tx.conn.run(end).await.map_err(|stopped| stopped.error)?;
        Ok(head)
    }

    /// Returns the end of the chain that new entries are linked to: the stored one, if it follows from the last
    /// one that is known here. Another process may have extended the chain. A chain that was cut or changed is
    /// not followed, so that verification finds the break.
    async fn follow(&mut self, stored: AuditHead) -> Result<AuditHead, StoreError> {
        if self.head == stored || self.head.seq == 0 {
            return Ok(stored);
        }
        let kept: Option<HeadRow> = self.tx.query_optional(chain::hash_at(self.head.seq)).await?;
        let is_kept = kept.and_then(HeadRow::head) == Some(self.head);
        if is_kept && stored.seq > self.head.seq {
            return Ok(stored);
        }
        tracing::error!("the audit log was changed from outside: run `orion audit verify`");
        Ok(self.head)
    }

    /// Applies one batch inside the transaction. Returns whether it is kept.
    async fn batch(&mut self, job: &mut BatchJob, alone: bool) -> Result<bool, StoreError> {
        let script = if alone { Script::default() } else { Script::default().command(SAVE) };
        let before = script.len;
        let mut script = script.statements(job.batch.statements.iter().cloned());
        let end = script.len;
        if !alone {
            script = script.command(RELEASE);
        }
        if script.len == 0 {
            job.result = Ok(Applied::Done(Vec::new()));
            self.tx.events.append(&mut job.batch.events);
            return Ok(true);
        }
        match self.tx.conn.run(script).await {
            Ok(mut outcomes) => {
                job.result = Ok(done(outcomes.get_mut(before..end).unwrap_or_default()));
                self.tx.events.append(&mut job.batch.events);
                Ok(true)
            }
            Err(stopped) if is_fatal(stopped.error) => Err(stopped.error),
            Err(stopped) => {
                job.result = failed(&job.batch, &stopped, before);
                Ok(false)
            }
        }
    }

    /// Moves everything into the main file and closes it.
    pub(super) async fn close(mut self) {
        if let Err(error) = self.tx.conn.command("PRAGMA wal_checkpoint(TRUNCATE)").await {
            tracing::warn!(%error, "the database's journal stays; the next start takes it in");
        }
        if let Err(error) = self.tx.conn.close().await {
            tracing::warn!(%error, "the database's file did not close cleanly");
        }
    }
}

/// Returns whether an error ends the whole group.
const fn is_fatal(error: StoreError) -> bool {
    matches!(error, StoreError::Full | StoreError::Unavailable)
}

fn done(outcomes: &mut [Outcome]) -> Applied {
    let rows = outcomes.iter_mut().flat_map(|outcome| std::mem::take(&mut outcome.rows));
    Applied::Done(rows.collect())
}

/// Returns the result of a batch whose statements begin at `first` of the script that stopped.
fn failed(batch: &Batch, stopped: &ScriptError, first: usize) -> Result<Applied, StoreError> {
    if stopped.is_unmet {
        let statement = number(&batch.statements, stopped.statement.saturating_sub(first));
        return Ok(Applied::Unmet { statement });
    }
    Err(stopped.error)
}

/// Returns the number of the statement whose check is at this place of the script.
fn number(statements: &[Statement], place: usize) -> usize {
    let mut end = 0;
    for (number, statement) in statements.iter().enumerate() {
        end += match statement.rows {
            ExpectedRows::Any => 1,
            ExpectedRows::Exactly(_) => 2,
        };
        if place < end {
            return number;
        }
    }
    statements.len()
}
