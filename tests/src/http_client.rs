//! A client of the routes beside gRPC, over HTTP/2.

use std::pin::Pin;

use serde_json::Value;
use tonic::body::Body;
use tonic::codegen::http::{HeaderMap, Method, Request, StatusCode};
use tonic::transport::{Channel, Endpoint};
use tower::{Service as _, ServiceExt as _};

use crate::eventually::PATIENCE;

/// A client with a token.
#[derive(Debug, Clone)]
pub struct HttpClient {
    channel: Channel,
    token: String,
}

/// A response with its whole body.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, as far as it came.
    pub body: String,
    /// Whether the body came to its end.
    pub is_whole: bool,
}

/// A response that is read piece by piece.
#[derive(Debug)]
pub struct HttpStream(Pin<Box<Body>>);

impl HttpStream {
    /// Returns the next piece. `None` at the end, and an error where the stream broke off.
    ///
    /// # Errors
    /// The stream broke off.
    ///
    /// # Panics
    /// Nothing comes.
    pub async fn next(&mut self) -> Option<Result<String, tonic::Status>> {
        loop {
            let frame = std::future::poll_fn(|context| {
                tonic::codegen::Body::poll_frame(self.0.as_mut(), context)
            });
            match tokio::time::timeout(PATIENCE, frame).await.unwrap()? {
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Some(Ok(String::from_utf8(data.to_vec()).unwrap()));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl HttpClient {
    /// Creates a client of the backend at `address`; without a token where it is empty.
    ///
    /// # Panics
    /// `address` is invalid.
    #[must_use]
    pub fn new(address: &str, token: &str) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        Self { channel: endpoint.connect_lazy(), token: token.to_owned() }
    }

    /// Sends a request and returns its response, whose body is not read yet.
    ///
    /// # Panics
    /// The backend does not answer.
    pub async fn open(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) -> (StatusCode, HeaderMap, HttpStream) {
        let body = tonic::codegen::Bytes::from(body.into());
        let mut request = Request::builder().method(method).uri(path);
        if !self.token.is_empty() {
            request = request.header("authorization", format!("Bearer {}", self.token));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::new(http_body_util::Full::new(body))).unwrap();
        let mut channel = self.channel.clone();
        let response = channel.ready().await.unwrap().call(request);
        let response = tokio::time::timeout(PATIENCE, response).await.unwrap().unwrap();
        let (parts, body) = response.into_parts();
        (parts.status, parts.headers, HttpStream(Box::pin(body)))
    }

    /// Sends a request and reads the whole response.
    ///
    /// # Panics
    /// The backend does not answer.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) -> HttpAnswer {
        let (status, headers, mut stream) = self.open(method, path, headers, body).await;
        let mut answer = HttpAnswer { status, headers, body: String::new(), is_whole: false };
        loop {
            match stream.next().await {
                Some(Ok(piece)) => answer.body.push_str(&piece),
                Some(Err(_)) => return answer,
                None => return HttpAnswer { is_whole: true, ..answer },
            }
        }
    }

    /// Posts JSON.
    pub async fn post(&self, path: &str, body: &Value) -> HttpAnswer {
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        self.send(Method::POST, path, &headers, body.to_string()).await
    }

    /// Gets a resource.
    pub async fn get(&self, path: &str) -> HttpAnswer {
        self.send(Method::GET, path, &[], "").await
    }
}

impl HttpAnswer {
    /// Parses the body as JSON.
    ///
    /// # Panics
    /// It is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the data of each event of a stream.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok()).collect()
    }
}
