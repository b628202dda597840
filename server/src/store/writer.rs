//! The one writer: takes the changes that wait, commits them as one group, answers each.
//!
//! A change that fails undoes itself alone. A commit that fails undoes and answers the whole group,
//! and the writer lives on. The audit's rows of a group are linked when its changes are done, in
//! their order, so that the chain, its head and the changes become durable as one.

mod chain;
mod checkpoint;
mod job;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use orion_domain::audit::AuditHead;
use serde::Serialize;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::StoreError;
use checkpoint::Checkpoints;
pub(super) use checkpoint::MOST_PAGES as LOG_PAGES;
use job::{Job, Typed};

/// How many changes wait at most; more wait outside.
const WAITING: usize = 1024;
/// How long a change waits outside before it is refused.
const WAIT: Duration = Duration::from_secs(10);
/// How many changes are committed as one.
const GROUP: usize = 256;

/// What a change survives once it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Durability {
    /// The end of the process, however it comes; a power cut may lose the last second.
    Commit,
    /// A power cut too.
    Fsync,
}

/// What undoing a change takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// One statement, which undoes itself.
    One,
    /// Several: a savepoint around them.
    Several,
}

/// A row that the audit is to get.
#[derive(Debug)]
pub(super) struct Event {
    /// When, Unix milliseconds.
    pub(super) at: i64,
    /// What happened.
    pub(super) kind: &'static str,
    /// The call it is about, or empty.
    pub(super) call_id: String,
    /// The rest, a JSON object.
    pub(super) body: String,
}

impl Event {
    /// Writes the body out.
    pub(super) fn new(
        at: i64,
        kind: &'static str,
        call_id: String,
        body: &impl Serialize,
    ) -> Result<Self, StoreError> {
        // Plain structs of text and numbers serialise; what does not must not go unrecorded.
        let body = serde_json::to_string(body).map_err(|_| StoreError::Corrupt)?;
        Ok(Self { at, kind, call_id, body })
    }
}

/// What a change works with: the connection inside the group's transaction, and the audit.
pub(super) struct Tx {
    /// The connection.
    pub(super) conn: SqliteConnection,
    events: Vec<Event>,
}

impl Tx {
    /// Adds a row to the audit, if the change succeeds.
    pub(super) fn record(&mut self, event: Event) {
        self.events.push(event);
    }

    async fn run(&mut self, sql: &'static str) -> Result<(), StoreError> {
        sqlx::query(sql).execute(&mut self.conn).await?;
        Ok(())
    }
}

/// The way to the writer.
#[derive(Debug)]
pub(super) struct WriterHandle {
    jobs: mpsc::Sender<Job>,
    /// A clone for each change that is not answered yet.
    waiting: Arc<()>,
    /// Where the chain ends as far as it is surely on disk; empty before the first such commit.
    synced: Arc<Mutex<AuditHead>>,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl WriterHandle {
    /// Starts the writer on its connection; `options` open another where that one is lost.
    ///
    /// # Errors
    /// The end of the chain cannot be read.
    pub(super) async fn start(
        options: SqliteConnectOptions,
        mut conn: SqliteConnection,
    ) -> Result<Self, StoreError> {
        let head = chain::head(&mut conn).await?;
        let synced = Arc::new(Mutex::new(AuditHead::EMPTY));
        let (jobs, waiting) = mpsc::channel(WAITING);
        let stop = CancellationToken::new();
        let tx = Tx { conn, events: Vec::new() };
        let checkpoints = Checkpoints::start(options.clone(), stop.clone());
        let writer = Writer {
            options,
            tx,
            head: Some(head),
            synchronous: None,
            checkpoints,
            synced: Arc::clone(&synced),
        };
        let task = tokio::spawn(writer.run(waiting, stop.clone()));
        Ok(Self { jobs, waiting: Arc::default(), synced, stop, task: Mutex::new(Some(task)) })
    }

    /// Whether every change was answered.
    pub(super) fn is_at_rest(&self) -> bool {
        Arc::strong_count(&self.waiting) == 1
    }

    /// Where the chain ends as far as no power cut can take it back.
    pub(super) fn synced_head(&self) -> AuditHead {
        *self.synced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a change over and waits until it is committed.
    pub(super) async fn submit<T, F>(
        &self,
        durability: Durability,
        shape: Shape,
        work: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, StoreError>> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let work = Box::new(Typed::new(work, reply));
        let job = Job { durability, shape, work, _waiting: Arc::clone(&self.waiting) };
        self.jobs.send_timeout(job, WAIT).await.map_err(|_| StoreError::Unavailable)?;
        answer.await.unwrap_or(Err(StoreError::Unavailable))
    }

    /// Refuses new changes, commits those that wait, and closes the file.
    pub(super) async fn close(&self) {
        self.stop.cancel();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the record's writer ended badly");
        }
    }
}

struct Writer {
    options: SqliteConnectOptions,
    tx: Tx,
    /// The end of the chain; `None` when it has to be read again.
    head: Option<AuditHead>,
    /// What the connection is set to; `None` when that is not known.
    synchronous: Option<Durability>,
    checkpoints: Checkpoints,
    synced: Arc<Mutex<AuditHead>>,
}

impl Writer {
    async fn run(mut self, mut waiting: mpsc::Receiver<Job>, stop: CancellationToken) {
        let mut group = Vec::with_capacity(GROUP);
        let mut stopping = false;
        loop {
            tokio::select! {
                () = stop.cancelled(), if !stopping => {
                    waiting.close();
                    stopping = true;
                }
                taken = waiting.recv_many(&mut group, GROUP) => {
                    if taken == 0 {
                        break;
                    }
                    let end = self.commit(&mut group).await;
                    for job in group.drain(..) {
                        job.work.answer(end);
                    }
                }
            }
        }
        if let Err(error) = self.tx.run("PRAGMA wal_checkpoint(TRUNCATE)").await {
            tracing::warn!(%error, "the record's journal stays; the next start takes it in");
        }
        if let Err(error) = self.tx.conn.close().await {
            tracing::warn!(%error, "the record's file did not close cleanly");
        }
    }

    /// Commits a group whole or not at all.
    async fn commit(&mut self, group: &mut [Job]) -> Result<(), StoreError> {
        let end = self.transaction(group).await;
        match end {
            Ok(head) => {
                self.head = Some(head);
                if self.synchronous == Some(Durability::Fsync) {
                    *self.synced.lock().unwrap_or_else(PoisonError::into_inner) = head;
                }
                self.checkpoints.committed();
            }
            Err(error) => {
                tracing::error!(changes = group.len(), %error, "changes could not be recorded");
                self.head = None;
                // SQLite may have rolled back by itself; then there is nothing to undo.
                sqlx::query("ROLLBACK").execute(&mut self.tx.conn).await.ok();
            }
        }
        end.map(drop)
    }

    async fn transaction(&mut self, group: &mut [Job]) -> Result<AuditHead, StoreError> {
        let head = self.ready().await?;
        let durability = group.iter().map(|job| job.durability).max().unwrap_or(Durability::Fsync);
        self.set_synchronous(durability).await?;
        self.tx.events.clear();
        self.tx.run("BEGIN IMMEDIATE").await?;
        for job in group {
            let events = self.tx.events.len();
            if job.shape == Shape::Several {
                self.tx.run("SAVEPOINT change").await?;
            }
            match job.work.run(&mut self.tx).await {
                Ok(()) => {}
                Err(error @ (StoreError::Full | StoreError::Unavailable)) => return Err(error),
                Err(_) => {
                    self.tx.events.truncate(events);
                    if job.shape == Shape::Several {
                        self.tx.run("ROLLBACK TO change").await?;
                    }
                }
            }
            if job.shape == Shape::Several {
                self.tx.run("RELEASE change").await?;
            }
        }
        let events = std::mem::take(&mut self.tx.events);
        chain::append_and_commit(&mut self.tx.conn, head, events).await
    }

    /// Where the chain ends. After a failure nothing is certain of the connection, not even that
    /// it is outside a transaction; another takes its place.
    async fn ready(&mut self) -> Result<AuditHead, StoreError> {
        if let Some(head) = self.head {
            return Ok(head);
        }
        self.synchronous = None;
        self.tx.conn = self.options.connect().await?;
        let head = chain::head(&mut self.tx.conn).await?;
        self.head = Some(head);
        Ok(head)
    }

    /// With a write-ahead log, NORMAL writes at each commit and FULL also waits for the disk.
    async fn set_synchronous(&mut self, durability: Durability) -> Result<(), StoreError> {
        if self.synchronous != Some(durability) {
            self.tx
                .run(match durability {
                    Durability::Commit => "PRAGMA synchronous = NORMAL",
                    Durability::Fsync => "PRAGMA synchronous = FULL",
                })
                .await?;
            self.synchronous = Some(durability);
        }
        Ok(())
    }
}
