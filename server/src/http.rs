//! What the port of people serves beside gRPC, over HTTP/1.1 and HTTP/2. Every route has a row in the access table
//! and passes the same layer as an RPC.

mod mcp;
mod openai;
mod protocol;

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Request, Response, StatusCode, Version};
use axum::routing::get;
use tonic::body::Body;
use tower::{Service, ServiceExt as _};

pub use self::mcp::{PublicAddress, public_address};
pub use self::protocol::Http;
use crate::backend::Backend;

/// Returns the routes.
pub fn routes(
    backend: &Arc<Backend>,
) -> impl Service<
    Request<Body>,
    Response = Response<Body>,
    Error = std::convert::Infallible,
    Future: Send + 'static,
> + Clone
+ Send
+ 'static {
    let tasks = backend.tasks.clone();
    let healthz = async move || {
        if tasks.shutdown.is_cancelled() {
            (StatusCode::SERVICE_UNAVAILABLE, "stopping\n")
        } else {
            (StatusCode::OK, "ok\n")
        }
    };
    Router::new()
        .route("/healthz", get(healthz))
        .merge(openai::routes(&backend.chat))
        .merge(mcp::routes(backend))
        .map_request(|request: Request<Body>| request.map(axum::body::Body::new))
        .map_response(|response| with_headers(response.map(Body::new)))
}

/// Adds the headers that every response has: it is not kept, and its type is not guessed.
fn with_headers(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Passes each request to the gRPC services or to the routes.
#[derive(Debug, Clone)]
pub struct ByProtocol<G, H> {
    /// The gRPC services.
    pub grpc: G,
    /// The routes.
    pub http: H,
}

impl<G, H> Service<Request<Body>> for ByProtocol<G, H>
where
    G: Service<Request<Body>>,
    H: Service<Request<Body>, Response = G::Response, Error = G::Error, Future = G::Future>,
{
    type Response = G::Response;
    type Error = G::Error;
    type Future = G::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), G::Error>> {
        ready!(self.grpc.poll_ready(context))?;
        self.http.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> G::Future {
        if is_grpc(&request) { self.grpc.call(request) } else { self.http.call(request) }
    }
}

/// Returns whether a request is of gRPC, which is served over HTTP/2 alone.
fn is_grpc(request: &Request<Body>) -> bool {
    let content_type = request.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    request.version() == Version::HTTP_2
        && content_type.is_some_and(|it| it.starts_with(b"application/grpc"))
}
