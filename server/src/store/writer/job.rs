//! A submitted change, with its type of result erased.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::{Durability, Shape, Tx};
use crate::store::StoreError;

/// A waiting change.
pub(super) struct Job {
    /// What the change must survive.
    pub(super) durability: Durability,
    /// How the change is rolled back.
    pub(super) shape: Shape,
    /// The change itself.
    pub(super) work: Box<dyn Work>,
    /// Dropped when the change is answered.
    pub(super) _waiting: Arc<()>,
}

/// A change whose result type the writer does not know.
pub(super) trait Work: Send {
    /// Runs the change and keeps its result.
    fn run<'t>(&'t mut self, tx: &'t mut Tx) -> BoxFuture<'t, Result<(), StoreError>>;
    /// Sends the result to the submitter, after the group has ended.
    fn answer(self: Box<Self>, group: Result<(), StoreError>);
}

/// A change that returns a `T`.
pub(super) struct Typed<T, F> {
    work: Option<F>,
    result: Result<T, StoreError>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Typed<T, F> {
    /// Wraps a change and the channel for its result.
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
