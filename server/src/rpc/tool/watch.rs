//! A call as it goes on, for whoever watches: told when it moves, and at its end for the last time.

use std::pin::Pin;
use std::sync::Arc;

use orion_domain::CallId;
use orion_wire::v1;
use tokio_stream::Stream;
use tonic::Status;

use super::{call, with_advance};
use crate::backend::Backend;
use crate::bus::Watcher;
use crate::pipeline::CallView;
use crate::rpc::status;

/// What a watcher is sent.
pub(in crate::rpc) type Updates =
    Pin<Box<dyn Stream<Item = Result<v1::WatchCallResponse, Status>> + Send>>;

struct WatchedCall {
    backend: Arc<Backend>,
    call: CallId,
    changes: Watcher,
    told: Option<v1::Call>,
    is_over: bool,
}

/// The call now and whenever it has moved. The next state is made when the last one was taken, so that
/// whoever reads slowly holds up nobody and is told the newest.
pub(super) fn watch(backend: Arc<Backend>, call: CallId) -> Updates {
    let changes = backend.bus.watch_call(call);
    let watched = WatchedCall { backend, call, changes, told: None, is_over: false };
    Box::pin(futures_util::stream::unfold(watched, async |mut watched| {
        if watched.is_over {
            return None;
        }
        let next = watched.next().await.transpose()?;
        watched.is_over |= next.is_err();
        Some((next, watched))
    }))
}

impl WatchedCall {
    /// The next state that differs from the last one; none where the backend stops.
    async fn next(&mut self) -> Result<Option<v1::WatchCallResponse>, Status> {
        loop {
            if self.told.is_some() && !self.moved().await {
                return Ok(None);
            }
            let row = self.backend.store.call(&self.call.to_string()).await;
            let reply = CallView::from(row.map_err(status::store)?);
            self.is_over = reply.state.is_closed();
            let now = with_advance(&self.backend, call(reply));
            if self.told.as_ref() != Some(&now) {
                self.told = Some(now.clone());
                return Ok(Some(v1::WatchCallResponse { call: Some(now) }));
            }
        }
    }

    /// Waits until the call may have moved; `false` where the backend stops.
    async fn moved(&mut self) -> bool {
        tokio::select! {
            () = self.backend.shutdown.cancelled() => false,
            () = self.changes.changed() => true,
        }
    }
}
