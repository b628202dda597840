//! A submitted change: a batch, or work that reads before it writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::{Applied, Batch, Durability, Tx};
use crate::store::StoreError;

/// A waiting change.
pub(super) struct Job {
    /// The change.
    pub(super) change: Change,
    /// What the change must survive.
    pub(super) durability: Durability,
    /// Counts the change until it is answered. None until a change that may wait is committed.
    pub(super) busy: Option<Arc<()>>,
    /// Counts a change that may wait, until it is answered.
    pub(super) deferred: Option<Deferred>,
}

/// A change by its kind.
pub(super) enum Change {
    /// Statements that are known beforehand.
    Batch(BatchJob),
    /// Work that reads before it writes.
    Work(Box<dyn Work>),
}

/// A batch and the task that waits for it.
pub(super) struct BatchJob {
    /// The batch. Empty once it was taken.
    pub(super) batch: Batch,
    /// The result, before the group has ended.
    pub(super) result: Result<Applied, StoreError>,
    /// Gets the result.
    pub(super) reply: oneshot::Sender<Result<Applied, StoreError>>,
}

/// One of the changes that wait for what comes next.
#[derive(Debug)]
pub(super) struct Deferred(Arc<AtomicUsize>);

impl Deferred {
    /// Counts one more change.
    pub(super) fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(count))
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Job {
    /// Sends the result to the submitter, after the group has ended.
    pub(super) fn answer(self, group: Result<(), StoreError>) {
        // A submitter that is gone changes nothing: the change is committed regardless. Whoever it tells
        // must find it committed, so it counts as deferred until here.
        drop(self.deferred);
        match self.change {
            Change::Batch(job) => drop(job.reply.send(group.and(job.result))),
            Change::Work(work) => work.answer(group),
        }
    }
}

/// Work whose result type the writer does not know.
pub(super) trait Work: Send {
    /// Runs the work and keeps its result.
    fn run<'t>(&'t mut self, tx: &'t mut Tx) -> BoxFuture<'t, Result<(), StoreError>>;
    /// Sends the result to the submitter, after the group has ended.
    fn answer(self: Box<Self>, group: Result<(), StoreError>);
}

/// Work that returns a `T`.
pub(super) struct Typed<T, F> {
    work: Option<F>,
    result: Result<T, StoreError>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Typed<T, F> {
    /// Wraps work and the channel for its result.
    pub(super) const fn new(work: F, reply: oneshot::Sender<Result<T, StoreError>>) -> Self {
        Self { work: Some(work), result: Err(StoreError::Unavailable), reply }
    }
}

impl<T, F> Work for Typed<T, F>
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, StoreError>> + Send + 'static,
{
    fn run<'t>(&'t mut self, tx: &'t mut Tx) -> BoxFuture<'t, Result<(), StoreError>> {
        Box::pin(async move {
            if let Some(work) = self.work.take() {
                self.result = work(tx).await;
            }
            self.result.as_ref().map(|_| ()).map_err(|error| *error)
        })
    }

    fn answer(self: Box<Self>, group: Result<(), StoreError>) {
        // The submitter may be gone; the change is committed regardless.
        self.reply.send(group.and(self.result)).ok();
    }
}
