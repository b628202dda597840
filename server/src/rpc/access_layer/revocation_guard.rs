//! Ends a response stream when the person it is for loses access to it: the token is revoked or expires, or
//! the role changes.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body::Frame;
use tokio::sync::broadcast;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Bytes;

use crate::access::RequestPermit;
use crate::people::{self, Change, Identity, StreamEnd};

/// A future that resolves when access to a response ends.
pub(super) struct RevocationGuard(Pin<Box<dyn Future<Output = StreamEnd> + Send>>);

impl RevocationGuard {
    /// Creates a guard. `changes` must be subscribed before the token is looked up.
    pub(super) fn new(identity: Identity, changes: broadcast::Receiver<Change>, now: i64) -> Self {
        Self(Box::pin(people::ended(identity, changes, now)))
    }

    /// Is ready once the response must end.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<StreamEnd> {
        self.0.as_mut().poll(context)
    }
}

/// A response body with a revocation guard.
pub(super) struct GuardedBody {
    body: Body,
    guard: Option<RevocationGuard>,
    /// Makes the last frame of a response that ends early.
    last: fn(StreamEnd) -> Result<Frame<Bytes>, Status>,
    /// Keeps the request in flight as long as the response.
    _permit: Arc<RequestPermit>,
}

impl GuardedBody {
    /// Wraps a body so that it ends when the guard resolves.
    pub(super) fn body(
        body: Body,
        guard: RevocationGuard,
        last: fn(StreamEnd) -> Result<Frame<Bytes>, Status>,
        permit: Arc<RequestPermit>,
    ) -> Body {
        Body::new(Self { body, guard: Some(guard), last, _permit: permit })
    }
}

impl http_body::Body for GuardedBody {
    type Data = <Body as http_body::Body>::Data;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Status>>> {
        let Some(guard) = &mut self.guard else { return Poll::Ready(None) };
        if let Poll::Ready(end) = guard.poll(context) {
            self.guard = None;
            self.body = Body::empty();
            return Poll::Ready(Some((self.last)(end)));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        // No exact size: the stream may end early, which must not contradict a content length.
        http_body::SizeHint::default()
    }
}
