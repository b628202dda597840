//! Streams a call's state to a watcher whenever it changes, until the call ends.

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

/// The stream that a watcher receives.
pub(in crate::rpc) type Updates =
    Pin<Box<dyn Stream<Item = Result<v1::WatchCallResponse, Status>> + Send>>;

struct WatchedCall {
    backend: Arc<Backend>,
    call: CallId,
    changes: Watcher,
    last_sent: Option<v1::Call>,
    is_over: bool,
}

/// Streams the call's current state and every change. The next state is read after the client took the last
/// one, so a slow client blocks nobody and gets the newest state.
pub(super) fn watch(backend: Arc<Backend>, call: CallId) -> Updates {
    let changes = backend.bus.watch_call(call);
    let watched = WatchedCall { backend, call, changes, last_sent: None, is_over: false };
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
    /// Returns the next state that differs from the last one sent. `None` where the backend stops.
    async fn next(&mut self) -> Result<Option<v1::WatchCallResponse>, Status> {
        loop {
            if self.last_sent.is_some() && !self.moved().await {
                return Ok(None);
            }
            let row = self.backend.store.call(&self.call.to_string()).await;
            let reply = CallView::from(row.map_err(status::store)?);
            self.is_over = reply.state.is_closed();
            let now = with_advance(&self.backend, call(reply));
            if self.last_sent.as_ref() != Some(&now) {
                self.last_sent = Some(now.clone());
                return Ok(Some(v1::WatchCallResponse { call: Some(now) }));
            }
        }
    }

    /// Waits until the call may have changed; `false` where the backend stops.
    async fn moved(&mut self) -> bool {
        tokio::select! {
            () = self.backend.tasks.shutdown.cancelled() => false,
            () = self.changes.changed() => true,
        }
    }
}
