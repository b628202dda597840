//! `WatchApprovals`: streams the approval requests.

use std::pin::Pin;
use std::sync::Arc;

use orion_domain::ApprovalId;
use orion_wire::v1;
use tokio::sync::{broadcast, mpsc};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::{ApprovalApi, to_proto};
use crate::pipeline::Pipeline;
use crate::rpc::status;

/// The stream that a watcher receives.
pub(super) type Updates =
    Pin<Box<dyn Stream<Item = Result<v1::WatchApprovalsResponse, Status>> + Send>>;

type Sender = mpsc::Sender<Result<v1::WatchApprovalsResponse, Status>>;

/// The watcher has disconnected.
struct WatcherDisconnected;

/// Streams every open approval request, then each request whenever it is made, answered or ended. A watcher
/// that lags too far behind receives `DATA_LOSS` and watches again.
pub(super) async fn watch_approvals(api: &ApprovalApi) -> Result<Updates, Status> {
    let pipeline = Arc::clone(&api.pipeline);
    // Subscribed before the open requests are read, so that no change is missed in between.
    let changes = pipeline.bus.watch_approvals();
    let open = pipeline.store.approval_ids(true).await.map_err(status::store)?;
    let (sender, receiver) = mpsc::channel(16);
    api.pipeline.tasks.background.spawn(async move {
        // Ends when the watcher does.
        let _ = send_all(&pipeline, open, changes, &sender).await;
    });
    Ok(Box::pin(ReceiverStream::new(receiver)))
}

async fn send_all(
    pipeline: &Pipeline,
    open: Vec<ApprovalId>,
    mut changes: broadcast::Receiver<ApprovalId>,
    sender: &Sender,
) -> Result<(), WatcherDisconnected> {
    for id in open {
        send(pipeline, id, sender).await?;
    }
    loop {
        let change = tokio::select! {
            () = pipeline.tasks.shutdown.cancelled() => return Ok(()),
            () = sender.closed() => return Err(WatcherDisconnected),
            change = changes.recv() => change,
        };
        let Ok(id) = change else {
            let lost = "Too many changes at once for this watcher. Watch again.";
            let sent = sender.send(Err(Status::data_loss(lost))).await;
            return sent.map_err(|_| WatcherDisconnected);
        };
        send(pipeline, id, sender).await?;
    }
}

/// Sends an approval request as it is in the store. One that cannot be read is left out.
async fn send(
    pipeline: &Pipeline,
    id: ApprovalId,
    sender: &Sender,
) -> Result<(), WatcherDisconnected> {
    let Ok(row) = pipeline.store.approval(id).await else { return Ok(()) };
    let message = v1::WatchApprovalsResponse { approval: Some(to_proto::approval(row)) };
    sender.send(Ok(message)).await.map_err(|_| WatcherDisconnected)
}
