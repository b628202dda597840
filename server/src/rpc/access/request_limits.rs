//! Limits what one person may have in flight: the number of requests, and the bytes of their bodies. The
//! limit applies before a byte of a body is kept.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use dashmap::DashMap;
use http_body::Frame;
use orion_domain::{Caller, ErrorCode, Role, ToolError, UserName};
use orion_wire::status_from;
use tokio::time::{Instant, Sleep};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Bytes;

/// How many bytes of one person's requests are kept until they are answered. A viewer's requests are small.
const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;
const MAX_VIEWER_BODY_BYTES: usize = 1024 * 1024;
/// Maximum time until the next frame of a request's body.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
struct ActiveRequests {
    requests: usize,
    bytes: usize,
}

/// What every person has in flight.
#[derive(Debug)]
pub(super) struct RequestLimits {
    most: usize,
    people: Arc<DashMap<UserName, ActiveRequests>>,
}

impl RequestLimits {
    /// Creates limits of `most` requests for each person at once.
    pub(super) fn new(most: usize) -> Self {
        Self { most, people: Arc::default() }
    }

    /// Counts one more request of this person.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED`: the person has too many in flight.
    pub(super) fn begin(
        &self,
        Caller { user, role, .. }: &Caller,
    ) -> Result<RequestPermit, Status> {
        let mut person = self.people.entry(user.clone()).or_default();
        if person.requests >= self.most {
            return Err(exhausted(format!(
                "{user} has {} requests under way, which is as many as one person may. Wait for some to end and try again.",
                self.most
            )));
        }
        person.requests += 1;
        drop(person);
        let max_bytes = match role {
            Role::Viewer => MAX_VIEWER_BODY_BYTES,
            Role::Operator | Role::Admin => MAX_BODY_BYTES,
        };
        Ok(RequestPermit {
            user: user.clone(),
            bytes: 0,
            max_bytes,
            people: Arc::clone(&self.people),
        })
    }
}

fn exhausted(message: String) -> Status {
    status_from(&ToolError::new(ErrorCode::ResourceExhausted, message))
}

/// One request in flight; dropped when its response has ended.
#[derive(Debug)]
pub(super) struct RequestPermit {
    user: UserName,
    bytes: usize,
    max_bytes: usize,
    people: Arc<DashMap<UserName, ActiveRequests>>,
}

impl RequestPermit {
    /// Counts more bytes of this request.
    fn take(&mut self, bytes: usize) -> Result<(), Status> {
        let Some(mut person) = self.people.get_mut(&self.user) else { return Ok(()) };
        let all = person.bytes.saturating_add(bytes);
        if all > self.max_bytes {
            return Err(exhausted(format!(
                "{} has {} MiB of requests under way, which is as much as one person may. Wait for some to end and try again.",
                self.user,
                self.max_bytes >> 20
            )));
        }
        person.bytes = all;
        self.bytes += bytes;
        Ok(())
    }
}

/// Releases the bytes of an answered request. The request itself stays in flight until the response was sent.
pub(super) fn answered(share: &Mutex<RequestPermit>) {
    let mut share = share.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes = std::mem::take(&mut share.bytes);
    if let Some(mut person) = share.people.get_mut(&share.user) {
        person.bytes = person.bytes.saturating_sub(bytes);
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        if let Some(mut person) = self.people.get_mut(&self.user) {
            person.requests = person.requests.saturating_sub(1);
            person.bytes = person.bytes.saturating_sub(self.bytes);
        }
        self.people.remove_if(&self.user, |_, person| person.requests == 0);
    }
}

/// The body of a request, counted for its person where there is one.
#[derive(Debug)]
pub(super) struct BoundedBody {
    body: Body,
    share: Option<Arc<Mutex<RequestPermit>>>,
    late: Pin<Box<Sleep>>,
}

impl BoundedBody {
    /// Wraps a body with a limit on its kept bytes and on the time between its frames.
    pub(super) fn body(body: Body, share: Option<Arc<Mutex<RequestPermit>>>) -> Body {
        Body::new(Self { body, share, late: Box::pin(tokio::time::sleep(BODY_TIMEOUT)) })
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
        if let Some(share) = &self.share {
            let taken = share.lock().unwrap_or_else(PoisonError::into_inner).take(bytes);
            if let Err(status) = taken {
                return Poll::Ready(Some(Err(status)));
            }
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

    fn person(name: &str, role: Role) -> Caller {
        Caller { user: name.parse().unwrap(), role, conversation: None }
    }

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

    #[test]
    fn a_person_has_so_many_requests_under_way_and_gets_them_back() {
        let shares = RequestLimits::new(2);
        let held = [
            shares.begin(&person("ann", Role::Operator)).unwrap(),
            shares.begin(&person("ann", Role::Operator)).unwrap(),
        ];
        let refused = shares.begin(&person("ann", Role::Operator)).unwrap_err();
        assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
        assert!(shares.begin(&person("bob", Role::Admin)).is_ok());
        drop(held);
        assert!(shares.begin(&person("ann", Role::Operator)).is_ok());
        assert!(shares.people.is_empty());
    }

    #[test]
    fn a_person_has_so_many_bytes_under_way_on_all_requests_together() {
        let shares = RequestLimits::new(9);
        let mut first = shares.begin(&person("ann", Role::Operator)).unwrap();
        let mut second = shares.begin(&person("ann", Role::Operator)).unwrap();
        first.take(MAX_BODY_BYTES - 1).unwrap();
        second.take(1).unwrap();
        assert_eq!(second.take(1).unwrap_err().code(), tonic::Code::ResourceExhausted);
        shares.begin(&person("bob", Role::Admin)).unwrap().take(MAX_BODY_BYTES).unwrap();
        let mut viewer = shares.begin(&person("carol", Role::Viewer)).unwrap();
        viewer.take(MAX_VIEWER_BODY_BYTES).unwrap();
        assert!(viewer.take(1).is_err());
        drop(viewer);
        drop(first);
        second.take(MAX_BODY_BYTES - 1).unwrap();
        drop(second);
        assert!(shares.people.is_empty());
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
