//! The stream of one transfer: carries requests to the tool and its answers back, over as many connections as it
//! takes.

use std::sync::mpsc::SyncSender;
use std::time::Duration;

use orion_catalog::{Content, MAX_PART_BYTES};
use orion_domain::{CallId, Digest, ErrorCode, ToolError};
use orion_wire::v1;
use orion_wire::v1::content_service_client::ContentServiceClient;
use orion_wire::v1::move_content_request::Message as Outgoing;
use orion_wire::v1::move_content_response::Message as Incoming;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;

use super::{ContentAnswer, ContentRequest, Numbered};

/// How long until a stream that ended is opened again.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);
/// How long the last answer may take to leave.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest message: a part, and what surrounds it.
const MAX_MESSAGE_BYTES: usize = MAX_PART_BYTES + 4096;
/// The longest message of a failure, in characters.
const MAX_FAILURE_CHARS: usize = 500;

/// The stream of one transfer.
pub(super) struct Stream {
    pub(super) call: CallId,
    pub(super) content: Content,
    pub(super) requests: SyncSender<Numbered<ContentRequest>>,
    pub(super) answers: mpsc::Receiver<Numbered<ContentAnswer>>,
}

/// How one connection of a stream ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The tool has ended.
    Done,
    /// The connection or the backend has.
    Lost,
}

impl Stream {
    /// Carries messages until the tool ends.
    pub(super) async fn run(mut self, mut link: watch::Receiver<Option<Channel>>) {
        loop {
            let channel = tokio::select! {
                linked = link.wait_for(Option::is_some) => {
                    linked.ok().and_then(|channel| channel.clone())
                }
                answer = self.answers.recv() => match answer {
                    // The connection that asked for it is gone.
                    Some(_) => continue,
                    None => return,
                },
            };
            let Some(channel) = channel else { return };
            if self.carry(channel).await == End::Done {
                return;
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }

    async fn carry(&mut self, channel: Channel) -> End {
        let (out, outgoing) = mpsc::channel(1);
        let opened = v1::ContentOpened { call_id: self.call.to_string() };
        let first = v1::MoveContentRequest { number: 0, message: Some(Outgoing::Opened(opened)) };
        // The queue is new and has room.
        drop(out.try_send(first));
        let mut client = ContentServiceClient::new(channel)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        let opening = client.move_content(ReceiverStream::new(outgoing));
        let mut incoming = tokio::select! {
            opened = opening => match opened {
                Ok(opened) => opened.into_inner(),
                Err(status) => {
                    tracing::debug!(call = %self.call, %status, "the content's stream was not opened");
                    return End::Lost;
                }
            },
            () = self.answers_dropped() => return End::Done,
        };
        // The request of this connection that the tool has not answered yet.
        let mut asked = None;
        loop {
            tokio::select! {
                message = incoming.message() => {
                    let Ok(Some(v1::MoveContentResponse { number, message: Some(message) })) = message
                    else {
                        return End::Lost;
                    };
                    let Some(request) = request(message, self.content) else { return End::Lost };
                    // One request at a time: another one before the answer is against the protocol.
                    if asked.is_some() || self.requests.try_send((number, request)).is_err() {
                        return End::Lost;
                    }
                    asked = Some(number);
                }
                answer = self.answers.recv() => {
                    let Some((number, answer)) = answer else {
                        drop(out);
                        // The backend ends the stream once it has read everything.
                        drop(tokio::time::timeout(CLOSE_TIMEOUT, incoming.message()).await);
                        return End::Done;
                    };
                    if asked.take_if(|asked| *asked == number).is_none() {
                        continue;
                    }
                    let message = v1::MoveContentRequest { number, message: Some(outgoing_answer(answer)) };
                    if out.send(message).await.is_err() {
                        return End::Lost;
                    }
                }
            }
        }
    }

    /// Waits until the tool ends, and drops answers that no connection wants.
    async fn answers_dropped(&mut self) {
        while self.answers.recv().await.is_some() {}
    }
}

/// Converts a message of the backend. None for what a call of this kind does not take.
fn request(message: Incoming, content: Content) -> Option<ContentRequest> {
    let is_sender = match content {
        Content::ToPerson => true,
        Content::FromPerson | Content::FromDevice => false,
        Content::InCall => return None,
    };
    Some(match message {
        Incoming::Wanted(v1::ContentWanted { offset, max_bytes }) if is_sender => {
            let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX).min(MAX_PART_BYTES);
            ContentRequest::Read { offset, max_bytes }
        }
        Incoming::Part(v1::ContentPart { offset, content, size_bytes })
            if !is_sender && content.len() <= MAX_PART_BYTES =>
        {
            ContentRequest::Write { offset, content, size: size_bytes }
        }
        Incoming::Done(v1::ContentDone { sha256 }) => {
            ContentRequest::Done(Digest::from_slice(&sha256))
        }
        Incoming::Failed(v1::ContentFailed { code, message }) => {
            let code = ErrorCode::from_text(&code);
            let message = orion_domain::strip_hidden(&message, MAX_FAILURE_CHARS);
            ContentRequest::Failed(ToolError::new(code.unwrap_or(ErrorCode::Internal), message))
        }
        Incoming::Wanted(_) | Incoming::Part(_) => return None,
    })
}

fn outgoing_answer(answer: ContentAnswer) -> Outgoing {
    match answer {
        ContentAnswer::Part { offset, content, size } => {
            Outgoing::Part(v1::ContentPart { offset, content: content.into(), size_bytes: size })
        }
        ContentAnswer::Received(received) => Outgoing::Received(v1::ContentReceived { received }),
    }
}
