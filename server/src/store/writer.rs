//! The one writer: takes the waiting changes, commits them as one group, and answers each.
//!
//! A change that fails is rolled back alone. A commit that fails rolls back the whole group, every change
//! of it gets the error, and the writer goes on. The audit rows of a group are linked after its changes, in
//! their order, so that the chain, its head and the changes become durable together.

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

/// The capacity of the queue; further changes wait for a place.
const MAX_WAITING: usize = 1024;
/// How long a change waits for a place in the queue before it fails.
const SUBMIT_TIMEOUT: Duration = Duration::from_secs(10);
/// How many changes are committed together at most.
const MAX_GROUP: usize = 256;

/// What an answered change survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Durability {
    /// The end of the process, even a crash; a power cut may lose the last second.
    Commit,
    /// A power cut as well.
    Fsync,
}

/// How a change is rolled back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// One statement, which SQLite rolls back itself.
    One,
    /// Several statements: inside a savepoint.
    Several,
}

/// A new row of the audit log.
#[derive(Debug)]
pub(super) struct Event {
    /// Unix milliseconds.
    pub(super) at: i64,
    /// The kind of event.
    pub(super) kind: &'static str,
    /// The call's id. Empty if the event is not about a call.
    pub(super) call_id: String,
    /// The body, a JSON object.
    pub(super) body: String,
}

impl Event {
    /// Creates an event and serializes its body.
    pub(super) fn new(
        at: i64,
        kind: &'static str,
        call_id: String,
        body: &impl Serialize,
    ) -> Result<Self, StoreError> {
        // Plain structs of text and numbers always serialize; a failure must not go unrecorded.
        let body = serde_json::to_string(body).map_err(|_| StoreError::Corrupt)?;
        Ok(Self { at, kind, call_id, body })
    }
}

/// What a change works with: the connection inside the group's transaction, and the audit events.
pub(super) struct Tx {
    /// The connection.
    pub(super) conn: SqliteConnection,
    events: Vec<Event>,
}

impl Tx {
    /// Adds an event to the audit log, if the change succeeds.
    pub(super) fn record(&mut self, event: Event) {
        self.events.push(event);
    }

    async fn run(&mut self, sql: &'static str) -> Result<(), StoreError> {
        sqlx::query(sql).execute(&mut self.conn).await?;
        Ok(())
    }
}

/// The handle of the writer.
#[derive(Debug)]
pub(super) struct WriterHandle {
    jobs: mpsc::Sender<Job>,
    /// A clone for each change that is not answered yet.
    waiting: Arc<()>,
    /// The last head of the chain that is surely on disk. Empty before the first fsynced commit.
    synced: Arc<Mutex<AuditHead>>,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl WriterHandle {
    /// Starts the writer on its connection; `options` open another one after a failure.
    ///
    /// # Errors
    /// The end of the chain cannot be read.
    pub(super) async fn start(
        options: SqliteConnectOptions,
        mut conn: SqliteConnection,
    ) -> Result<Self, StoreError> {
        let head = chain::head(&mut conn).await?;
        let synced = Arc::new(Mutex::new(AuditHead::EMPTY));
        let (jobs, waiting) = mpsc::channel(MAX_WAITING);
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

    /// Returns whether every change was answered.
    pub(super) fn is_at_rest(&self) -> bool {
        Arc::strong_count(&self.waiting) == 1
    }

    /// Returns the last head of the chain that survives a power cut.
    pub(super) fn synced_head(&self) -> AuditHead {
        *self.synced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits a change and waits until it is committed.
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
        self.jobs.send_timeout(job, SUBMIT_TIMEOUT).await.map_err(|_| StoreError::Unavailable)?;
        answer.await.unwrap_or(Err(StoreError::Unavailable))
    }

    /// Rejects new changes, commits those that wait, and closes the file.
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
    /// The end of the chain. `None` if it has to be read again.
    head: Option<AuditHead>,
    /// The connection's setting. `None` if it is not known.
    synchronous: Option<Durability>,
    checkpoints: Checkpoints,
    synced: Arc<Mutex<AuditHead>>,
}

impl Writer {
    async fn run(mut self, mut waiting: mpsc::Receiver<Job>, stop: CancellationToken) {
        let mut group = Vec::with_capacity(MAX_GROUP);
        let mut stopping = false;
        loop {
            tokio::select! {
                () = stop.cancelled(), if !stopping => {
                    waiting.close();
                    stopping = true;
                }
                taken = waiting.recv_many(&mut group, MAX_GROUP) => {
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

    /// Commits a group as a whole.
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
                // SQLite may have rolled back by itself; this statement fails then.
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

    /// Returns the end of the chain. After a failure the connection's state is unknown, even whether it is
    /// in a transaction, so a new connection replaces it.
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
