//! New calls: a person, a chat or a program requests one, waits for it or leaves it in the background, and
//! gets the stored result for a key that was used before.

use std::sync::Arc;

use orion_domain::{CallState, ToolError};

use super::call::CallContext;
use super::evaluate::{self, Unread};
use super::{CallView, Pipeline, audit, idempotency};
use crate::store::StoreError;

impl Pipeline {
    /// Runs a new call to its end, or until it waits for an approval or its device. The work continues if
    /// the requester disconnects, so that every opened call is closed.
    ///
    /// # Errors
    /// The database cannot be written; then nothing is sent.
    pub async fn run(self: &Arc<Self>, context: CallContext) -> Result<CallView, StoreError> {
        if self.tasks.shutdown.is_cancelled() {
            return Err(StoreError::Unavailable);
        }
        let shared = Arc::clone(self);
        let task = self.tasks.calls.spawn(async move { shared.run_once(context).await });
        task.await.unwrap_or(Err(StoreError::Unavailable))
    }

    /// Runs a call as [`Self::run`] does and returns its state as soon as it is stored. The call continues
    /// in the background.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn start(self: &Arc<Self>, context: CallContext) -> Result<CallView, StoreError> {
        let id = context.id;
        let mut changes = self.bus.watch_call(id);
        let run = self.run(context);
        tokio::pin!(run);
        loop {
            tokio::select! {
                done = &mut run => return done,
                () = changes.changed() => {}
            }
            match self.store.call(id).await {
                Ok(row) if row.state != CallState::Received => return Ok(CallView::from(row)),
                Ok(_) | Err(StoreError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Runs a call, unless its idempotency key was used before.
    async fn run_once(self: &Arc<Self>, context: CallContext) -> Result<CallView, StoreError> {
        let most = self.config.calls.in_flight_per_person;
        let _slot = match self.limits.acquire_slot(&context.caller.user, most) {
            Ok(slot) => slot,
            Err(error) => return self.deny(context, error).await,
        };
        if context.request.idempotency_key.is_none() {
            return self.resume(context, None).await;
        }
        if let Some(earlier) = idempotency::answer(self, &context).await? {
            return Ok(earlier);
        }
        match self.resume(context.clone(), None).await {
            // Two requests with the same key came at once, and the other one was stored first.
            Err(StoreError::KeyInUse) => {
                idempotency::answer(self, &context).await?.ok_or(StoreError::KeyInUse)
            }
            done => done,
        }
    }

    /// Stores a call as denied, whatever the policy says. Its idempotency key may be used again.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn deny(
        &self,
        mut context: CallContext,
        error: ToolError,
    ) -> Result<CallView, StoreError> {
        context.request.idempotency_key = None;
        audit::deny(self, context, None, error).await
    }

    /// Denies a call without reading its arguments: the tool or device does not exist, or the caller may not
    /// call the tool there at all. The call is stored without arguments. Returns `None` if the arguments
    /// have to be read.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn deny_unread(
        &self,
        mut context: CallContext,
    ) -> Result<Option<CallView>, StoreError> {
        let Err(unread) = evaluate::target(self, &context) else { return Ok(None) };
        let Unread { target, refused } = *unread;
        // The key may be used again with arguments that are read.
        context.request.idempotency_key = None;
        audit::deny(self, context, target, refused.error).await.map(Some)
    }
}
