//! Applies the access table to gRPC requests: the tower layer around the services of both ports.

mod bounded_body;
mod revocation_guard;
#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{HeaderValue, Request, Response};
use tower::{Layer, Service};

use self::bounded_body::BoundedBody;
use self::revocation_guard::{GuardedBody, RevocationGuard};
use super::status;
use crate::access::{AccessControl, Admitted, AdmittedPerson, Credentials, Operation};
use crate::clock::now_ms;
use crate::listen::connections::Admission;
use crate::listen::{Peer, Source};

/// The RPCs that answer at once, and some of which end the session that calls.
const ANSWERS_AT_ONCE: &str = "/orion.v1.AuthService/";

/// Admits requests, and passes the identity of their callers to the handlers.
#[derive(Clone)]
pub struct AccessLayer {
    access: Arc<AccessControl>,
}

impl AccessLayer {
    /// Creates the layer for both ports.
    #[must_use]
    pub fn new(access: Arc<AccessControl>) -> Self {
        Self { access }
    }
}

impl<S> Layer<S> for AccessLayer {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { access: Arc::clone(&self.access), inner }
    }
}

/// A service behind the access table.
#[derive(Clone)]
pub struct Guarded<S> {
    access: Arc<AccessControl>,
    inner: S,
}

impl<S> Service<Request<Body>> for Guarded<S>
where
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
                return Ok(Status::unavailable("The connection was closed.").into_http());
            }
            let operation = Operation::find(request.uri().path());
            let source = request.extensions().get::<Peer>().map(Source::of);
            let header = request.headers().get("authorization").cloned();
            let credentials = Credentials {
                source: source.as_ref(),
                connection: connection.as_deref(),
                authorization: header.as_ref().map(HeaderValue::as_bytes),
            };
            match access.admit(operation, credentials).await {
                Err(error) => Ok(status::access(error).into_http()),
                Ok(Admitted::Device) => run(&access, operation, inner, request).await,
                Ok(Admitted::Anyone) => {
                    let request = request.map(|body| BoundedBody::body(body, None));
                    run(&access, operation, inner, request).await
                }
                Ok(Admitted::Person(person)) => {
                    run_for(*person, &access, operation, inner, request).await
                }
            }
        })
    }
}

/// Runs a person's request with their identity, within their limits, and ends its response when the person
/// loses access to it.
async fn run_for<S>(
    person: AdmittedPerson,
    access: &AccessControl,
    operation: Option<&'static Operation>,
    inner: S,
    request: Request<Body>,
) -> Result<Response<Body>, S::Error>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    let AdmittedPerson { identity, permit, changes } = person;
    let permit = Arc::new(permit);
    let answers_at_once = request.uri().path().starts_with(ANSWERS_AT_ONCE);
    let counted = Some(Arc::clone(&permit));
    let mut request = request.map(|body| BoundedBody::body(body, counted));
    request.extensions_mut().insert(identity.clone());
    let response = run(access, operation, inner, request).await?;
    permit.release_bytes();
    if answers_at_once {
        return Ok(response);
    }
    let guard = RevocationGuard::new(identity, changes, now_ms());
    Ok(response.map(|body| GuardedBody::body(body, guard, permit)))
}

async fn run<S>(
    access: &AccessControl,
    operation: Option<&'static Operation>,
    mut inner: S,
    request: Request<Body>,
) -> Result<Response<Body>, S::Error>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    let response = access.run(operation, inner.call(request)).await;
    response.unwrap_or_else(|| Ok(status::broken_off().into_http()))
}
