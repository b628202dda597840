//! Calls that a call on the backend makes in turn: each goes through the pipeline like a call of its person, and is
//! cancelled when the call that made it is broken off.

use std::sync::Arc;

use orion_catalog::tools::planned_call::PlannedCall;
use orion_domain::{CallId, Caller, Digest, ToolError};

use super::Context;
use super::effect::failed;
use crate::clock::new_uuid;
use crate::pipeline::call::CallContext;
use crate::pipeline::{CallView, Pipeline, cancel};
use crate::planned_calls::{provenance, request};
use crate::store::{CallRow, Parent, Provenance, StoreError};

/// What the calls of one call have in common.
#[derive(Debug)]
pub(super) struct OwnCalls {
    pipeline: Arc<Pipeline>,
    caller: Caller,
    parent: CallId,
    provenance: Provenance,
    token: Option<Digest>,
}

impl OwnCalls {
    /// Prepares the calls of this call. `tainted` is whether somebody else may have written them, besides what
    /// the chat has read.
    pub(super) async fn of(context: &Context, tainted: bool) -> Result<Self, ToolError> {
        let row = context.devices.store.call(context.call).await.map_err(failed)?;
        let CallRow { id, tool, tainted: in_chat, token, .. } = row;
        let provenance = provenance(tainted || in_chat, id, &tool);
        let (pipeline, caller) = (Arc::clone(&context.pipeline), context.caller.clone());
        Ok(Self { pipeline, caller, parent: id, provenance, token })
    }

    /// Makes a call and waits for its end, also where it waits for an approval.
    pub(super) async fn make(&self, call: &PlannedCall) -> Result<CallView, ToolError> {
        let id = CallId::new(new_uuid());
        let context = CallContext {
            id,
            is_fresh: false,
            provenance: self.provenance.clone(),
            parent: Some(Parent::Call(self.parent)),
            token: self.token,
            ..CallContext::new(self.caller.clone(), request(call))
        };
        let mut guard = CancelOnDrop { own: self, call: id, has_ended: false };
        let view = self.pipeline.run(context).await.map_err(failed)?;
        let view = self.ended(view).await.map_err(failed)?;
        guard.has_ended = true;
        Ok(view)
    }

    async fn ended(&self, mut view: CallView) -> Result<CallView, StoreError> {
        let mut changes = self.pipeline.bus.watch_call(view.call);
        while !view.state.is_closed() {
            // The call is read again first: it may have changed before the watcher subscribed.
            view = CallView::from(self.pipeline.store.call(view.call).await?);
            if !view.state.is_closed() {
                changes.changed().await;
            }
        }
        Ok(view)
    }
}

/// Cancels a call that has not ended when nobody waits for it any more.
struct CancelOnDrop<'a> {
    own: &'a OwnCalls,
    call: CallId,
    has_ended: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let OwnCalls { pipeline, caller, .. } = self.own;
        // A backend that stops lets the calls on devices end.
        if self.has_ended || pipeline.tasks.shutdown.is_cancelled() {
            return;
        }
        let (shared, caller, call) = (Arc::clone(pipeline), caller.clone(), self.call);
        pipeline.tasks.calls.spawn(async move {
            let ended = async {
                let row = shared.store.call(call).await?;
                if !row.state.is_closed() {
                    cancel::cancel(&shared, &caller, row).await?;
                }
                Ok::<(), StoreError>(())
            };
            match ended.await {
                Ok(()) | Err(StoreError::NotFound) => {}
                Err(error) => tracing::warn!(%call, %error, "a call could not be cancelled"),
            }
        });
    }
}
