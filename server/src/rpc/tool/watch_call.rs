//! `WatchCall`: streams a call's state whenever it changes, and what its programs print, until the call ends.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use orion_domain::CallId;
use orion_wire::v1::{self, watch_call_response::Event};
use tokio_stream::Stream;
use tonic::Status;

use super::{ToolApi, to_proto};
use crate::bus::Watcher;
use crate::fleet::{LiveOutput, OutputPiece, locked};
use crate::pipeline::{CallView, Pipeline, calls};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// The stream that a watcher receives.
pub(super) type Updates = Pin<Box<dyn Stream<Item = Result<v1::WatchCallResponse, Status>> + Send>>;

struct WatchedCall {
    pipeline: Arc<Pipeline>,
    call: CallId,
    changes: Watcher,
    last_sent: Option<v1::Call>,
    /// Whether nothing changed since the state was read.
    is_current: bool,
    /// The output. `None` where none is wanted.
    output: Option<WatchedOutput>,
    is_over: bool,
}

struct WatchedOutput {
    changes: Watcher,
    /// `None` until the call is sent to its device.
    output: Option<Arc<Mutex<LiveOutput>>>,
    /// The position of the output that was not sent yet.
    next: u64,
}

/// Streams the current state of one of the caller's calls, or for an admin any, and every change. The next
/// state or piece of output is read after the client took the last one, so a slow client blocks nobody and gets
/// the newest.
pub(super) async fn watch_call(
    api: &ToolApi,
    request: Signed<v1::WatchCallRequest>,
) -> Result<Updates, Status> {
    let Signed { identity, message } = request;
    let v1::WatchCallRequest { call_id, output } = message;
    let row = calls::visible(&api.pipeline, &identity.caller, &call_id).await;
    let call = row.map_err(status::store)?.id;
    let (pipeline, changes) = (Arc::clone(&api.pipeline), api.pipeline.bus.watch_call(call));
    let changes_of_output = output.then(|| api.pipeline.bus.watch_output(call));
    let output = changes_of_output.map(|changes| WatchedOutput { changes, output: None, next: 0 });
    let watched = WatchedCall {
        pipeline,
        call,
        changes,
        last_sent: None,
        is_current: false,
        output,
        is_over: false,
    };
    Ok(Box::pin(futures_util::stream::unfold(watched, async |mut watched| {
        if watched.is_over {
            return None;
        }
        let next = watched.next().await.transpose()?;
        watched.is_over |= next.is_err();
        Some((next, watched))
    })))
}

impl WatchedCall {
    /// Returns the output that was not sent yet, or the next state that differs from the last one sent. `None`
    /// where the backend stops.
    async fn next(&mut self) -> Result<Option<v1::WatchCallResponse>, Status> {
        loop {
            if let Some(piece) = self.unsent_output() {
                return Ok(Some(response(Event::Output(piece))));
            }
            if self.is_current {
                match self.changed().await {
                    Changed::Stopping => return Ok(None),
                    Changed::Output => {}
                    Changed::Call => self.is_current = false,
                }
                continue;
            }
            let row = self.pipeline.store.call(self.call).await;
            let view = CallView::from(row.map_err(status::store)?);
            if let Some(piece) = self.unsent_output() {
                // What was printed before the call ended comes before its end.
                return Ok(Some(response(Event::Output(piece))));
            }
            self.is_current = true;
            self.is_over = view.state.is_closed();
            let now = to_proto::recorded_in_progress(&self.pipeline.fleet, view);
            if self.last_sent.as_ref() != Some(&now) {
                self.last_sent = Some(now.clone());
                return Ok(Some(response(Event::Call(now))));
            }
        }
    }

    /// Returns what the call printed since the last piece.
    fn unsent_output(&mut self) -> Option<v1::OutputPiece> {
        let watched = self.output.as_mut()?;
        if watched.output.is_none() {
            watched.output = self.pipeline.fleet.waiting().output_of(self.call);
        }
        let OutputPiece { offset, data } = locked(watched.output.as_ref()?).since(watched.next)?;
        watched.next = offset.saturating_add(data.len() as u64);
        Some(v1::OutputPiece { offset, data: data.into() })
    }

    /// Waits until the call may have changed, or printed something.
    async fn changed(&mut self) -> Changed {
        let printed = async {
            match &mut self.output {
                Some(watched) => watched.changes.changed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.pipeline.tasks.shutdown.cancelled() => Changed::Stopping,
            () = self.changes.changed() => Changed::Call,
            () = printed => Changed::Output,
        }
    }
}

enum Changed {
    /// The backend stops.
    Stopping,
    /// The call may have changed.
    Call,
    /// Its programs printed something.
    Output,
}

const fn response(event: Event) -> v1::WatchCallResponse {
    v1::WatchCallResponse { event: Some(event) }
}
