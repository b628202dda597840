//! What holds an answer to its person: a stream ends when the one it is for may no longer have it,
//! however long it would have gone on.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body::Frame;
use tokio::sync::broadcast;
use tokio::time::Sleep;
use tokio_stream::Stream as _;
use tokio_stream::wrappers::BroadcastStream;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::HeaderMap;

use crate::people::{Change, Ending, Identity};

/// Whose answer it is, and what would end it.
#[derive(Debug)]
pub(super) struct Leash {
    identity: Identity,
    changes: BroadcastStream<Change>,
    /// When the token is over.
    over: Pin<Box<Sleep>>,
}

impl Leash {
    /// Listens to changes that were subscribed to before the token was looked up.
    pub(super) fn new(identity: Identity, changes: broadcast::Receiver<Change>, now: i64) -> Self {
        let left = u64::try_from(identity.expires_at - now).unwrap_or(0);
        Self {
            identity,
            changes: BroadcastStream::new(changes),
            over: Box::pin(tokio::time::sleep(Duration::from_millis(left))),
        }
    }

    /// Ready once the answer must end.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Status> {
        loop {
            let ending = match Pin::new(&mut self.changes).poll_next(context) {
                Poll::Pending => break,
                Poll::Ready(Some(Ok(change))) => change.ends(&self.identity),
                // Nobody knows what was missed, so it is taken for the worst.
                Poll::Ready(Some(Err(_)) | None) => Some(Ending::RoleChanged),
            };
            match ending {
                None => {}
                Some(Ending::SignedOut) => return Poll::Ready(signed_out()),
                Some(Ending::RoleChanged) => {
                    return Poll::Ready(Status::aborted(
                        "What you may do has changed, so this answer ends here; ask again.",
                    ));
                }
            }
        }
        self.over.as_mut().poll(context).map(|()| signed_out())
    }
}

fn signed_out() -> Status {
    Status::unauthenticated(
        "You were signed out: the session or token is good no more. Sign in again: `orion login`.",
    )
}

/// An answer on its leash.
#[derive(Debug)]
pub(super) struct Leashed {
    body: Body,
    leash: Option<Leash>,
}

impl Leashed {
    /// The answer, ending when the leash says so.
    pub(super) fn body(body: Body, leash: Leash) -> Body {
        Body::new(Self { body, leash: Some(leash) })
    }
}

impl http_body::Body for Leashed {
    type Data = <Body as http_body::Body>::Data;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Status>>> {
        let Some(leash) = &mut self.leash else { return Poll::Ready(None) };
        if let Poll::Ready(status) = leash.poll(context) {
            self.leash = None;
            self.body = Body::empty();
            let mut trailers = HeaderMap::new();
            return Poll::Ready(Some(
                status.add_header(&mut trailers).map(|()| Frame::trailers(trailers)),
            ));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        // An end that comes early must not break a length that was promised.
        http_body::SizeHint::default()
    }
}
