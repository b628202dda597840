//! `MoveContent`: a device opens the stream of one running call, and answers one request at a time.

use std::sync::Arc;
use std::time::Duration;

use orion_catalog::{Content, MAX_PART_BYTES};
use orion_domain::{CallId, DeviceId};
use orion_wire::v1;
use orion_wire::v1::move_content_request::Message as Incoming;
use orion_wire::v1::move_content_response::Message as ToDevice;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Status, Streaming};

use super::{ContentApi, Outgoing};
use crate::pipeline::content::{bring, serves};
use crate::rpc::agent::good;
use crate::rpc::status;
use crate::transfers::{ContentAnswer, ContentRequest, Order, Stream};

/// Maximum time until a device names its call.
const OPENING_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time of a device's answer. A slow link carries a part in less.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(50);

/// Serves the stream of a call until the call, the stream or the device's link ends.
pub(super) async fn move_content(
    api: &ContentApi,
    request: Request<Streaming<v1::MoveContentRequest>>,
) -> Result<Outgoing, Status> {
    let backend = Arc::clone(&api.backend);
    let identity = good(&backend, &request)?;
    let device: DeviceId = identity
        .device_id
        .parse()
        .map_err(|_| Status::unauthenticated("The certificate names no device."))?;
    // A device that was revoked or replaced has no link, and the stream ends with the link.
    let link = backend.fleet.link(device).filter(|link| !link.has_ended());
    let link = link.ok_or_else(|| Status::failed_precondition("This device has no link."))?;
    let mut incoming = request.into_inner();
    let first = timeout(OPENING_TIMEOUT, incoming.message()).await;
    let Ok(Ok(Some(v1::MoveContentRequest { message: Some(Incoming::Opened(opened)), .. }))) =
        first
    else {
        return Err(Status::failed_precondition("The first message names the call."));
    };
    let call: CallId = opened
        .call_id
        .parse()
        .map_err(|_| Status::invalid_argument("The first message names no call."))?;
    let content = serves(&backend.pipeline, device, call).await.map_err(status::store)?;
    let content =
        content.ok_or_else(|| Status::failed_precondition("No such call runs on this device."))?;
    let stream = backend.pipeline.transfers.attach(call);
    if content == Content::FromDevice {
        bring::begin(&backend.pipeline, call);
    }
    let (sender, outgoing) = mpsc::channel(1);
    let closing = backend.tasks.closing.clone();
    backend.tasks.background.spawn(async move {
        tokio::select! {
            () = link.ended() => {}
            () = closing.cancelled() => {}
            () = converse(stream, incoming, &sender) => {}
        }
    });
    Ok(Box::pin(ReceiverStream::new(outgoing)))
}

/// Hands orders to the device and answers back, one after the other.
async fn converse(
    mut stream: Stream,
    mut incoming: Streaming<v1::MoveContentRequest>,
    outgoing: &mpsc::Sender<Result<v1::MoveContentResponse, Status>>,
) {
    loop {
        let Order { number, request, reply } = tokio::select! {
            order = stream.next() => match order {
                Some(order) => order,
                None => return,
            },
            // Between two orders a device says nothing, so it has ended the stream.
            _ = incoming.message() => return,
        };
        let offset = match &request {
            ContentRequest::Read { offset } => Some(*offset),
            ContentRequest::Write { .. } | ContentRequest::Done(_) | ContentRequest::Failed(_) => {
                None
            }
        };
        let message = v1::MoveContentResponse { number, message: Some(to_device(request)) };
        if outgoing.send(Ok(message)).await.is_err() {
            return;
        }
        let Ok(Ok(Some(message))) = timeout(ANSWER_TIMEOUT, incoming.message()).await else {
            return;
        };
        let Some(answer) = answer(message, number, offset) else { return };
        drop(reply.send(answer));
    }
}

/// Converts an answer. None for what answers another request, or not this one.
fn answer(
    message: v1::MoveContentRequest,
    asked: u64,
    offset: Option<u64>,
) -> Option<ContentAnswer> {
    let v1::MoveContentRequest { number, message } = message;
    if number != asked {
        return None;
    }
    match (message?, offset) {
        (Incoming::Part(part), Some(wanted)) => {
            let v1::ContentPart { offset, content, size_bytes } = part;
            let fits = offset == wanted && content.len() <= MAX_PART_BYTES;
            let end = offset.saturating_add(content.len() as u64);
            let fits = fits && (content.is_empty() || end <= size_bytes);
            fits.then_some(ContentAnswer::Part { content, size: size_bytes })
        }
        (Incoming::Received(v1::ContentReceived { received }), None) => {
            Some(ContentAnswer::Received(received))
        }
        (Incoming::Part(_) | Incoming::Received(_) | Incoming::Opened(_), _) => None,
    }
}

fn to_device(request: ContentRequest) -> ToDevice {
    match request {
        ContentRequest::Read { offset } => ToDevice::Wanted(v1::ContentWanted {
            offset,
            max_bytes: u32::try_from(MAX_PART_BYTES).unwrap_or(u32::MAX),
        }),
        ContentRequest::Write { offset, content, size } => {
            ToDevice::Part(v1::ContentPart { offset, content, size_bytes: size })
        }
        ContentRequest::Done(digest) => ToDevice::Done(v1::ContentDone {
            sha256: digest.map(|digest| digest.as_bytes().to_vec()).unwrap_or_default().into(),
        }),
        ContentRequest::Failed(error) => ToDevice::Failed(v1::ContentFailed {
            code: error.code.as_str().to_owned(),
            message: error.message,
        }),
    }
}
