//! What the port of people serves beside gRPC, over HTTP/1.1 and HTTP/2. Every route has a row in the access table
//! and passes the same layer as an RPC.

mod address;
mod browser;
mod downloads;
mod mcp;
mod openai;
mod page;
mod protocol;
mod sign_in;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, Version};
use axum::routing::get;
use tonic::body::Body;
use tower::{Service, ServiceExt as _};

pub use self::address::{PublicAddress, public_address};
pub use self::browser::SessionCookie;
pub use self::page::is_built as has_page;
pub use self::protocol::Http;
use crate::backend::Backend;

/// Returns the routes.
pub fn routes(
    backend: &Arc<Backend>,
    cookie: SessionCookie,
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
        .merge(downloads::routes(&backend.downloads))
        .merge(openai::routes(&backend.chat))
        .merge(mcp::routes(backend))
        .merge(sign_in::routes(backend, cookie))
        .fallback(otherwise)
        .map_request(|request: Request<Body>| request.map(axum::body::Body::new))
        .map_response(|response| with_headers(response.map(Body::new)))
}

/// Serves the page at every other address, but for those of the agents: who downloads a program gets no document.
async fn otherwise(uri: Uri, headers: HeaderMap) -> Response<axum::body::Body> {
    if downloads::serves(uri.path()) {
        downloads::unknown()
    } else {
        page::serve(uri, headers).await
    }
}

/// Adds the headers that every response has: it is not kept, and its type is not guessed.
fn with_headers(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// How a service answers.
type Answering = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

/// Passes each request to the gRPC services or to the routes.
#[derive(Debug, Clone)]
pub struct ByProtocol<G, W, H> {
    /// The gRPC services.
    pub grpc: G,
    /// The same services, in the form that browsers speak.
    pub grpc_web: W,
    /// The routes.
    pub http: H,
    /// Where a browser has its session.
    pub cookie: SessionCookie,
    /// The names under which people reach this port.
    pub names: PublicAddress,
}

impl<G, W, H> Service<Request<Body>> for ByProtocol<G, W, H>
where
    G: Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future = Answering>,
    W: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    W::Future: Send + 'static,
    H: Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future = Answering>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        ready!(self.grpc.poll_ready(context))?;
        ready!(self.grpc_web.poll_ready(context))?;
        self.http.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Answering {
        if is_grpc(&request) {
            return self.grpc.call(request);
        }
        let address = self.names.of(request.uri(), request.headers());
        self.cookie.take(&mut request, address.as_ref());
        let is_known = address.is_some();
        if let Some(address) = address {
            request.extensions_mut().insert(address);
        }
        // A request to a name that is not known is refused with the routes, whatever it is.
        if !is_known || !is_grpc_web(&request) {
            return self.http.call(request);
        }
        let answer = self.grpc_web.call(request);
        Box::pin(async move { answer.await.map(with_headers) })
    }
}

/// Returns whether a request is of gRPC, which is served over HTTP/2 alone.
fn is_grpc(request: &Request<Body>) -> bool {
    let content_type = request.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    request.version() == Version::HTTP_2
        && content_type.is_some_and(|it| {
            it.starts_with(b"application/grpc") && !it.starts_with(b"application/grpc-web")
        })
}

/// Returns whether a request is of gRPC-web, in the one form that the page uses.
fn is_grpc_web(request: &Request<Body>) -> bool {
    let content_type = request.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    request.method() == Method::POST
        && content_type.is_some_and(|it| it == b"application/grpc-web+proto")
}
