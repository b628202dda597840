//! What holds an answer to its person: a stream ends when the one it is for may no longer have it,
//! however long it would have gone on.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http_body::Frame;
use tokio::sync::broadcast;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::HeaderMap;

use super::request_limits::RequestPermit;
use crate::people::{self, Change, Identity, StreamEnd};
use crate::rpc::status;

/// What would end an answer.
pub(super) struct RevocationGuard(Pin<Box<dyn Future<Output = StreamEnd> + Send>>);

impl RevocationGuard {
    /// Listens to changes that were subscribed to before the token was looked up.
    pub(super) fn new(identity: Identity, changes: broadcast::Receiver<Change>, now: i64) -> Self {
        Self(Box::pin(people::ended(identity, changes, now)))
    }

    /// Ready once the answer must end.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Status> {
        self.0.as_mut().poll(context).map(status::ended)
    }
}

/// An answer on its leash.
pub(super) struct GuardedBody {
    body: Body,
    leash: Option<RevocationGuard>,
    /// What its person has under way is held as long as the answer.
    _share: Arc<Mutex<RequestPermit>>,
}

impl GuardedBody {
    /// The answer, ending when the leash says so.
    pub(super) fn body(
        body: Body,
        leash: RevocationGuard,
        share: Arc<Mutex<RequestPermit>>,
    ) -> Body {
        Body::new(Self { body, leash: Some(leash), _share: share })
    }
}

impl http_body::Body for GuardedBody {
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
