//! The one writer: takes the waiting changes, commits them as one group, and answers each.
//!
//! A change that fails is rolled back alone. A commit that fails rolls back the whole group, every change
//! of it gets the error, and the writer goes on. The audit entries of a group are linked after its changes,
//! in their order, so that the chain, its end and the changes become durable together. How a group is
//! committed is in `group`; which changes form one is decided here.

mod group;
mod tx;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use orion_domain::audit::AuditHead;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::checkpoint::Checkpoints;
use super::connection::Connection;
use super::job::{BatchJob, Change, Deferred, Job, Typed};
use super::{Applied, Batch, Durability};
use crate::store::StoreError;
use group::Committer;

pub(in crate::store) use tx::Tx;

/// The capacity of the queue; further changes wait for a place.
const MAX_WAITING: usize = 1024;
/// How long a change waits for a place in the queue before it fails.
const SUBMIT_TIMEOUT: Duration = Duration::from_secs(10);
/// How many changes are committed together at most.
const MAX_GROUP: usize = 256;
/// How long a change that may wait for the next one is uncommitted at most.
const MAX_DEFERRAL: Duration = Duration::from_millis(20);

/// The handle of the writer.
#[derive(Debug)]
pub(super) struct WriterHandle {
    jobs: mpsc::Sender<Job>,
    /// A clone for each change that is not answered yet, but for those that wait for what comes next.
    busy: Arc<()>,
    /// How many changes wait for what comes next, or are being committed with it.
    deferred: Arc<AtomicUsize>,
    /// Whether the last commit failed.
    is_failing: Arc<AtomicBool>,
    /// The last end of the chain that is surely on disk. Empty before the first fsynced commit.
    synced: Arc<Mutex<AuditHead>>,
    /// How many groups were committed.
    commits: Arc<AtomicU64>,
    /// How many commands the connection's thread was given.
    commands: Arc<AtomicU64>,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl WriterHandle {
    /// Starts the writer on its connection; it opens another one after a failure.
    ///
    /// # Errors
    /// The end of the chain cannot be read.
    pub(super) async fn start(path: &Path, conn: Connection) -> Result<Self, StoreError> {
        let (jobs, waiting) = mpsc::channel(MAX_WAITING);
        let stop = CancellationToken::new();
        let (busy, deferred, is_failing) = (Arc::default(), Arc::default(), Arc::default());
        let (synced, commits, commands) =
            (Arc::new(Mutex::new(AuditHead::EMPTY)), Arc::default(), Arc::default());
        let writer = Writer {
            committer: Committer::start(path, conn.counting(Arc::clone(&commands))).await?,
            checkpoints: Checkpoints::start(path, stop.clone()),
            busy: Arc::downgrade(&busy),
            is_failing: Arc::clone(&is_failing),
            synced: Arc::clone(&synced),
            commits: Arc::clone(&commits),
        };
        let task = Mutex::new(Some(tokio::spawn(writer.run(waiting, stop.clone()))));
        Ok(Self { jobs, busy, deferred, is_failing, synced, commits, commands, stop, task })
    }

    /// Returns whether every change was answered, but for those that wait for what comes next.
    pub(super) fn is_at_rest(&self) -> bool {
        Arc::strong_count(&self.busy) == 1
    }

    /// Returns whether a change waits for what comes next, or is being committed with it.
    pub(super) fn has_deferred(&self) -> bool {
        self.deferred.load(Ordering::Acquire) > 0
    }

    /// Returns whether the last commit failed, so that the next one may fail as well.
    pub(super) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Acquire)
    }

    /// Returns the last end of the chain that survives a power cut.
    pub(super) fn synced_head(&self) -> AuditHead {
        *self.synced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many commands the connection's thread was given, and how many groups were committed.
    pub(super) fn crossings(&self) -> (u64, u64) {
        (self.commands.load(Ordering::Relaxed), self.commits.load(Ordering::Relaxed))
    }

    /// Submits a batch and waits until it is committed.
    pub(super) async fn apply(&self, batch: Batch) -> Result<Applied, StoreError> {
        let answer = self.submit_batch(batch, None).await?;
        answer.await.unwrap_or(Err(StoreError::Unavailable))
    }

    /// Submits a batch that may wait for what comes next.
    pub(super) async fn apply_later(
        &self,
        batch: Batch,
    ) -> Result<oneshot::Receiver<Result<Applied, StoreError>>, StoreError> {
        self.submit_batch(batch, Some(Deferred::new(&self.deferred))).await
    }

    async fn submit_batch(
        &self,
        batch: Batch,
        deferred: Option<Deferred>,
    ) -> Result<oneshot::Receiver<Result<Applied, StoreError>>, StoreError> {
        let (reply, answer) = oneshot::channel();
        let durability = batch.durability;
        let change = Change::Batch(BatchJob { batch, result: Err(StoreError::Unavailable), reply });
        self.submit(change, durability, deferred).await?;
        Ok(answer)
    }

    /// Submits work and waits until it is committed.
    pub(super) async fn transact<T, F>(
        &self,
        durability: Durability,
        work: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, StoreError>> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.submit(Change::Work(Box::new(Typed::new(work, reply))), durability, None).await?;
        answer.await.unwrap_or(Err(StoreError::Unavailable))
    }

    async fn submit(
        &self,
        change: Change,
        durability: Durability,
        deferred: Option<Deferred>,
    ) -> Result<(), StoreError> {
        let busy = deferred.is_none().then(|| Arc::clone(&self.busy));
        let job = Job { change, durability, busy, deferred };
        self.jobs.send_timeout(job, SUBMIT_TIMEOUT).await.map_err(|_| StoreError::Unavailable)
    }

    /// Rejects new changes, commits those that wait, and closes the file.
    pub(super) async fn close(&self) {
        self.stop.cancel();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the database's writer ended badly");
        }
        let (commands, commits) = self.crossings();
        tracing::debug!(commands, commits, "the database is closed");
    }
}

struct Writer {
    committer: Committer,
    checkpoints: Checkpoints,
    /// Counts the changes of a group while it is committed.
    busy: Weak<()>,
    is_failing: Arc<AtomicBool>,
    synced: Arc<Mutex<AuditHead>>,
    commits: Arc<AtomicU64>,
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
                    gather(&mut group, &mut waiting, &stop).await;
                    for job in &mut group {
                        job.busy = job.busy.take().or_else(|| self.busy.upgrade());
                    }
                    let end = self.commit(&mut group).await;
                    for job in group.drain(..) {
                        job.answer(end);
                    }
                }
            }
        }
        self.committer.close().await;
    }

    /// Commits a group as a whole.
    async fn commit(&mut self, group: &mut [Job]) -> Result<(), StoreError> {
        let committed = self.committer.commit(group).await;
        self.is_failing.store(committed.is_err(), Ordering::Release);
        match committed {
            Ok(Some(synced)) => {
                *self.synced.lock().unwrap_or_else(PoisonError::into_inner) = synced;
            }
            Ok(None) => {}
            Err(error) => {
                tracing::error!(changes = group.len(), %error, "changes could not be recorded");
                return Err(error);
            }
        }
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.checkpoints.committed();
        Ok(())
    }
}

/// Waits for more changes while every change of the group may wait, but not for long.
async fn gather(group: &mut Vec<Job>, waiting: &mut mpsc::Receiver<Job>, stop: &CancellationToken) {
    let until = Instant::now() + MAX_DEFERRAL;
    while group.len() < MAX_GROUP && group.iter().all(|job| job.deferred.is_some()) {
        let room = MAX_GROUP - group.len();
        tokio::select! {
            () = stop.cancelled() => return,
            more = timeout_at(until, waiting.recv_many(group, room)) => match more {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }
}
