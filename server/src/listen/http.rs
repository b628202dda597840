//! Serves HTTP on one connection, with limits on everything that a peer can make it hold. Each request gets its
//! connection's peer and admission.

use std::convert::Infallible;
use std::error::Error as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http_body::Frame;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tower::{Service, ServiceExt as _};

use super::connections::{Admission, CloseReason, ConnectionState};
use super::metered::Metered;
use super::{Connection, Peer};

/// Interval of pings on a quiet connection.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(8);
/// Timeout of a ping. A half-open connection is detected within the sum of interval and timeout.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(8);
/// Maximum size of a request's headers, in bytes, as HTTP/2 counts them.
const MAX_HEADER_LIST_BYTES: u32 = 16 * 1024;
/// Maximum size of the buffer of an HTTP/1.1 connection, in bytes. A request's first line and headers must fit. It has
/// 100 headers at most, hyper's default.
const MAX_HTTP1_BUFFER_BYTES: usize = 16 * 1024;
/// How long an HTTP/1.1 connection waits for the headers of its next request.
const HTTP1_HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// How many streams a client may open and reset before they are accepted.
const MAX_PENDING_RESETS: usize = 20;
/// How many streams may be reset for an error of the client before the connection ends. A rejected call whose
/// body arrives late counts as one, and an honest program may have many of those.
const MAX_ERROR_RESETS: usize = 1024;
/// How many bytes of a response are buffered.
const MAX_SEND_BUFFER_BYTES: usize = 128 * 1024;

/// The HTTP limits of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// Whether HTTP/1.1 is served beside HTTP/2.
    pub http1: bool,
    /// Maximum number of concurrent requests.
    pub streams: u32,
    /// Maximum number of unread bytes on one stream.
    pub stream_window: u32,
    /// Maximum number of unread bytes on all streams together.
    pub connection_window: u32,
}

/// Serves a connection until it ends.
pub(super) async fn serve<S>(
    connection: Connection,
    admission: Arc<Admission>,
    limits: HttpLimits,
    service: S,
    shutdown: CancellationToken,
) where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
{
    let state = Arc::clone(admission.state());
    let Connection { peer, stream } = connection;
    let of_request = Arc::clone(&state);
    let service = service.map_request(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert::<Peer>(peer.clone());
        request.extensions_mut().insert(Arc::clone(&admission));
        request
    });
    let service = Counted { inner: service, state: of_request };
    let builder = builder(limits);
    let io = TokioIo::new(Metered::new(stream, Arc::clone(&state)));
    let mut serving =
        std::pin::pin!(builder.serve_connection(io, TowerToHyperService::new(service)));
    let mut is_draining = false;
    loop {
        tokio::select! {
            served = serving.as_mut() => {
                if let Err(error) = served {
                    tracing::debug!(%error, "a connection ended");
                    if error.downcast_ref().is_some_and(violates_protocol) {
                        state.close(CloseReason::Protocol);
                    }
                }
                return;
            }
            // Returning drops everything that the connection holds.
            () = state.closed() => return,
            () = state.drained(), if !is_draining => {}
            () = shutdown.cancelled(), if !is_draining => {}
        }
        is_draining = true;
        serving.as_mut().graceful_shutdown();
    }
}

fn builder(limits: HttpLimits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HTTP1_HEADER_TIMEOUT)
        .max_buf_size(MAX_HTTP1_BUFFER_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .max_concurrent_streams(limits.streams)
        .initial_stream_window_size(limits.stream_window)
        .initial_connection_window_size(limits.connection_window)
        .max_header_list_size(MAX_HEADER_LIST_BYTES)
        .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
        .max_local_error_reset_streams(MAX_ERROR_RESETS)
        .max_send_buf_size(MAX_SEND_BUFFER_BYTES);
    if limits.http1 { builder } else { builder.http2_only() }
}

/// Returns whether the client ended the connection by an error of its own. One that disconnects in the middle, sends
/// nothing more, does not answer a ping or has large headers violates no rule.
fn violates_protocol(error: &hyper::Error) -> bool {
    let is_of_socket = error.source().is_some_and(|source| source.is::<io::Error>());
    let is_silent = error.is_incomplete_message() || error.is_timeout();
    !(is_of_socket || is_silent || error.is_user() || error.is_parse_too_large())
}

/// A service that counts the responses in progress of its connection.
#[derive(Clone)]
struct Counted<S> {
    inner: S,
    state: Arc<ConnectionState>,
}

impl<S> Service<Request<Incoming>> for Counted<S>
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<WorkedBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let work = Work::begin(&self.state);
        let answer = self.inner.call(request);
        Box::pin(async move {
            let Ok(response) = answer.await;
            Ok(response.map(|body| WorkedBody { body, work }))
        })
    }
}

/// A response; counted on its connection while the backend works on it.
#[derive(Debug)]
struct Work {
    state: Arc<ConnectionState>,
    is_counted: bool,
}

impl Work {
    fn begin(state: &Arc<ConnectionState>) -> Self {
        state.works();
        Self { state: Arc::clone(state), is_counted: true }
    }

    fn go_on(&mut self) {
        if !self.is_counted {
            self.is_counted = true;
            self.state.works();
        }
    }

    fn pause(&mut self) {
        if self.is_counted {
            self.is_counted = false;
            self.state.rests(Instant::now());
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.pause();
    }
}

/// A response body. Its frames must be sent before the next one is requested, so the response does not count
/// as in progress until then.
#[derive(Debug)]
struct WorkedBody {
    body: Body,
    work: Work,
}

impl http_body::Body for WorkedBody {
    type Data = <Body as http_body::Body>::Data;
    type Error = tonic::Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        self.work.go_on();
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_ready() {
            self.work.pause();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}
