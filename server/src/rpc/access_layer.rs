//! Applies the access table to requests: the tower layer around the services of both ports, gRPC or not.

mod bounded_body;
mod grpc;
mod revocation_guard;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body::Frame;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Bytes;
use tonic::codegen::http::{HeaderValue, Request, Response};
use tower::{Layer, Service};

use self::bounded_body::BoundedBody;
pub use self::grpc::Grpc;
use self::revocation_guard::{GuardedBody, RevocationGuard};
use crate::access::{AccessControl, AccessError, Admitted, AdmittedPerson, Credentials, Operation};
use crate::clock::now_ms;
use crate::listen::connections::Admission;
use crate::listen::{Peer, Source};
use crate::people::StreamEnd;

/// The operations that answer at once, and some of which end the session that calls.
const ANSWERS_AT_ONCE: [&str; 2] = ["/orion.v1.AuthService/", "/page/"];

/// A protocol of requests: how it names operations and how it writes refusals.
pub trait Protocol: Send + Sync + 'static {
    /// Returns the operation of a request. None if the table has no row for it, so that it is refused.
    fn operation(request: &Request<Body>) -> Option<&'static Operation>;
    /// Returns the response to a request that is refused.
    fn refused(request: &Request<Body>, error: AccessError) -> Response<Body>;
    /// Returns the response of a handler that panicked, or on a connection that was closed.
    fn broken_off() -> Response<Body>;
    /// Returns the last frame of a response that ends before its handler ended it.
    fn ended(end: StreamEnd) -> Result<Frame<Bytes>, Status>;
}

/// Admits requests of a protocol, and passes the identity of their callers to the handlers.
pub struct AccessLayer<P> {
    access: Arc<AccessControl>,
    protocol: PhantomData<fn() -> P>,
}

impl<P> AccessLayer<P> {
    /// Creates the layer.
    #[must_use]
    pub fn new(access: &Arc<AccessControl>) -> Self {
        Self { access: Arc::clone(access), protocol: PhantomData }
    }
}

impl<S, P> Layer<S> for AccessLayer<P> {
    type Service = Guarded<S, P>;

    fn layer(&self, inner: S) -> Guarded<S, P> {
        Guarded { access: Arc::clone(&self.access), inner, protocol: PhantomData }
    }
}

/// A service behind the access table.
pub struct Guarded<S, P> {
    access: Arc<AccessControl>,
    inner: S,
    protocol: PhantomData<fn() -> P>,
}

impl<S: Clone, P> Clone for Guarded<S, P> {
    fn clone(&self) -> Self {
        let (access, inner) = (Arc::clone(&self.access), self.inner.clone());
        Self { access, inner, protocol: PhantomData }
    }
}

impl<S, P> Service<Request<Body>> for Guarded<S, P>
where
    P: Protocol,
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let clone = self.inner.clone();
        let inner = std::mem::replace(&mut self.inner, clone);
        let access = Arc::clone(&self.access);
        Box::pin(async move {
            let connection = request.extensions().get::<Arc<Admission>>().cloned();
            let is_closed = connection.as_ref().is_some_and(|it| it.state().closed_for().is_some());
            if is_closed {
                // The connection is closed, so nobody reads this response.
                return Ok(P::broken_off());
            }
            let operation = P::operation(&request);
            let source = request.extensions().get::<Peer>().map(Source::of);
            let header = request.headers().get("authorization").cloned();
            let credentials = Credentials {
                source: source.as_ref(),
                connection: connection.as_deref(),
                authorization: header.as_ref().map(HeaderValue::as_bytes),
            };
            match access.admit(operation, credentials).await {
                Err(error) => Ok(P::refused(&request, error)),
                Ok(Admitted::Device) => run::<S, P>(&access, operation, inner, request).await,
                Ok(Admitted::Anyone) => {
                    let request = request.map(|body| BoundedBody::body(body, None));
                    run::<S, P>(&access, operation, inner, request).await
                }
                Ok(Admitted::Person(person)) => {
                    run_for::<S, P>(*person, &access, operation, inner, request).await
                }
            }
        })
    }
}

/// Runs a person's request with their identity, within their limits, and ends its response when the person
/// loses access to it.
async fn run_for<S, P>(
    person: AdmittedPerson,
    access: &AccessControl,
    operation: Option<&'static Operation>,
    inner: S,
    request: Request<Body>,
) -> Result<Response<Body>, S::Error>
where
    P: Protocol,
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    let AdmittedPerson { identity, permit, changes } = person;
    let permit = Arc::new(permit);
    let path = request.uri().path();
    let answers_at_once = ANSWERS_AT_ONCE.iter().any(|prefix| path.starts_with(prefix));
    let counted = Some(Arc::clone(&permit));
    let mut request = request.map(|body| BoundedBody::body(body, counted));
    request.extensions_mut().insert(identity.clone());
    let response = run::<S, P>(access, operation, inner, request).await?;
    permit.release_bytes();
    if answers_at_once {
        return Ok(response);
    }
    let guard = RevocationGuard::new(identity, changes, now_ms());
    Ok(response.map(|body| GuardedBody::body(body, guard, P::ended, permit)))
}

async fn run<S, P>(
    access: &AccessControl,
    operation: Option<&'static Operation>,
    mut inner: S,
    request: Request<Body>,
) -> Result<Response<Body>, S::Error>
where
    P: Protocol,
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    let response = access.run(operation, inner.call(request)).await;
    response.unwrap_or_else(|| Ok(P::broken_off()))
}
