//! A change on its way through the writer, whatever it gives back.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::{Durability, Shape, Tx};
use crate::store::StoreError;

/// A change that waits.
pub(super) struct Job {
    /// What it must survive.
    pub(super) durability: Durability,
    /// What undoing it takes.
    pub(super) shape: Shape,
    /// The change itself.
    pub(super) work: Box<dyn Work>,
    /// Dropped when it is answered.
    pub(super) _waiting: Arc<()>,
}

/// A change whose answer has a type that the writer need not know.
pub(super) trait Work: Send {
    /// Makes the change and keeps what it gives.
    fn run<'t>(&'t mut self, tx: &'t mut Tx) -> BoxFuture<'t, Result<(), StoreError>>;
    /// Tells whoever waits how it went, when the group has ended.
    fn answer(self: Box<Self>, group: Result<(), StoreError>);
}

/// A change that gives a `T`.
pub(super) struct Typed<T, F> {
    work: Option<F>,
    result: Result<T, StoreError>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Typed<T, F> {
    /// Wraps a change and the way back.
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
        // Whoever asked may have gone; the change stands all the same.
        self.reply.send(group.and(self.result)).ok();
    }
}
