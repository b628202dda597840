//! Bounds the body of a request: the bytes that are kept of it, and the time between its frames.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body::Frame;
use tokio::time::{Instant, Sleep};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Bytes;

use crate::access::RequestPermit;
use crate::rpc::status;

/// Maximum time until the next frame of a request's body.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);

/// The body of a request, counted for its person where there is one.
#[derive(Debug)]
pub(super) struct BoundedBody {
    body: Body,
    permit: Option<Arc<RequestPermit>>,
    late: Pin<Box<Sleep>>,
}

impl BoundedBody {
    /// Wraps a body with a limit on its kept bytes and on the time between its frames.
    pub(super) fn body(body: Body, permit: Option<Arc<RequestPermit>>) -> Body {
        Body::new(Self { body, permit, late: Box::pin(tokio::time::sleep(BODY_TIMEOUT)) })
    }
}

impl http_body::Body for BoundedBody {
    type Data = <Body as http_body::Body>::Data;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Status>>> {
        let frame = match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(frame) => frame,
            Poll::Pending => {
                return self.late.as_mut().poll(context).map(|()| {
                    Some(Err(Status::deadline_exceeded(
                        "The rest of the request did not come in time. Send it again.",
                    )))
                });
            }
        };
        self.late.as_mut().reset(Instant::now() + BODY_TIMEOUT);
        let bytes = match &frame {
            Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len),
            Some(Err(_)) | None => 0,
        };
        if let Some(permit) = &self.permit
            && let Err(error) = permit.take(bytes)
        {
            return Poll::Ready(Some(Err(status::tool_error(error))));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body that never yields a frame.
    struct Never;

    impl http_body::Body for Never {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            Poll::Pending
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_stops_in_the_middle_is_given_up() {
        let body = Body::new(Never);
        let mut body = std::pin::pin!(BoundedBody::body(body, None));
        let began = Instant::now();
        let frame =
            std::future::poll_fn(|context| http_body::Body::poll_frame(body.as_mut(), context))
                .await;
        assert_eq!(frame.unwrap().unwrap_err().code(), tonic::Code::DeadlineExceeded);
        assert!(began.elapsed() >= BODY_TIMEOUT);
    }
}
