//! The content of calls at a misbehaving backend: it reads what it can, or sends a few bytes. What a call takes it
//! finds out by trying.

use std::pin::Pin;
use std::sync::Arc;

use dashmap::DashSet;
use orion_domain::Digest;
use orion_wire::v1;
use orion_wire::v1::content_service_server::ContentService;
use orion_wire::v1::move_content_request::Message as Incoming;
use orion_wire::v1::move_content_response::Message as ToDevice;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use crate::transfer::MILK;

/// The bytes of one part.
const PART_BYTES: u32 = 64 * 1024;

/// The service. It remembers the calls that did not let it read.
#[derive(Debug, Clone, Default)]
pub(super) struct Contents {
    tried: Arc<DashSet<String>>,
}

type Outgoing = Pin<Box<dyn Stream<Item = Result<v1::MoveContentResponse, Status>> + Send>>;

#[tonic::async_trait]
impl ContentService for Contents {
    type MoveContentStream = Outgoing;

    async fn move_content(
        &self,
        request: Request<Streaming<v1::MoveContentRequest>>,
    ) -> Result<Response<Outgoing>, Status> {
        let mut incoming = request.into_inner();
        let Some(v1::MoveContentRequest { message: Some(Incoming::Opened(opened)), .. }) =
            incoming.message().await?
        else {
            return Err(Status::failed_precondition("no call"));
        };
        let reads = self.tried.insert(opened.call_id);
        let (out, outgoing) = mpsc::channel(1);
        tokio::spawn(async move {
            let (mut number, mut offset) = (1, 0);
            loop {
                let message = if reads { wanted(offset) } else { sent(offset) };
                let message = v1::MoveContentResponse { number, message: Some(message) };
                if out.send(Ok(message)).await.is_err() {
                    return;
                }
                let Ok(Some(answer)) = incoming.message().await else { return };
                offset = match answer.message {
                    Some(Incoming::Part(part)) if part.content.is_empty() => u64::MAX,
                    Some(Incoming::Part(part)) => part.offset + part.content.len() as u64,
                    Some(Incoming::Received(received)) => received.received,
                    Some(Incoming::Opened(_)) | None => return,
                };
                number += 1;
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(outgoing))))
    }
}

fn wanted(offset: u64) -> ToDevice {
    if offset == u64::MAX {
        return ToDevice::Done(v1::ContentDone::default());
    }
    ToDevice::Wanted(v1::ContentWanted { offset, max_bytes: PART_BYTES })
}

fn sent(offset: u64) -> ToDevice {
    let size_bytes = MILK.len() as u64;
    if offset >= size_bytes {
        let sha256 = Digest::of(MILK).as_bytes().to_vec().into();
        return ToDevice::Done(v1::ContentDone { sha256 });
    }
    ToDevice::Part(v1::ContentPart { offset, content: MILK.to_vec().into(), size_bytes })
}
