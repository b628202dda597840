//! One message to the backend, and what comes back: an answer, or a stream that ends with it.

use std::sync::PoisonError;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tonic::body::Body;
use tonic::codegen::http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};

use super::Bridge;
use super::events::{Events, MAX_MESSAGE_BYTES};
use crate::client::Client;

/// The name of the protocol's version among the metadata of a request.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// The error of a request whose answer did not come: the backend may have made its call.
const UNFINISHED: &str =
    "The backend ended its answer too early. A call may have run: see `orion calls list`.";
const TOO_LARGE: &str = "An answer is larger than 16 MiB.";

/// Where messages are sent.
pub(super) trait Backend: Send + Sync + 'static {
    /// Sends a request. Returns the response, or why there is none.
    fn send(
        &self,
        request: Request<Body>,
    ) -> impl Future<Output = Result<Response<Body>, String>> + Send;
}

impl Backend for Client {
    async fn send(&self, request: Request<Body>) -> Result<Response<Body>, String> {
        self.http(request).await
    }
}

impl<B: Backend> Bridge<B> {
    /// Sends a message, and writes each message that comes back. A request is answered exactly once.
    ///
    /// # Errors
    /// No answer came; says why.
    pub(super) async fn exchange(&self, message: &Value, is_request: bool) -> Result<(), String> {
        let response = self.backend.send(self.request(message)).await?;
        let status = response.status();
        let content_type = response.headers().get(header::CONTENT_TYPE);
        if content_type.is_some_and(|it| it.as_bytes().starts_with(b"text/event-stream")) {
            return self.stream(response, message, is_request).await;
        }
        let body = collect(response).await?;
        if !is_request {
            return Ok(());
        }
        match serde_json::from_slice::<Value>(&body) {
            Ok(answer) if answer["jsonrpc"].is_string() => {
                if self.pass_on(answer, message).await {
                    Ok(())
                } else {
                    Err("The backend answered another request.".to_owned())
                }
            }
            _ if status == StatusCode::UNAUTHORIZED => {
                Err("Nobody is signed in any more. Run `orion login`, and let this program start `orion mcp` again.".to_owned())
            }
            Ok(answer) => {
                let said = answer["error"]["message"].as_str().unwrap_or("no reason was given");
                Err(format!("The backend answered {status}: {said}"))
            }
            Err(_) => Err(format!("The backend answered {status}, which is no message.")),
        }
    }

    fn request(&self, message: &Value) -> Request<Body> {
        let body = http_body_util::Full::new(message.to_string().into());
        let mut request = Request::new(Body::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static("/mcp");
        let params = &message["params"];
        let agreed = self.version.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let version = params["_meta"][VERSION_KEY].as_str().map(str::to_owned).or(agreed);
        let method = message["method"].as_str();
        let name = match method {
            Some("tools/call" | "prompts/get") => params["name"].as_str(),
            Some("resources/read" | "resources/subscribe" | "resources/unsubscribe") => {
                params["uri"].as_str()
            }
            Some("tasks/get" | "tasks/update" | "tasks/cancel") => params["taskId"].as_str(),
            _ => None,
        };
        let named = [
            ("content-type", Some("application/json".to_owned())),
            ("accept", Some("application/json, text/event-stream".to_owned())),
            ("mcp-protocol-version", version),
            ("mcp-method", method.map(str::to_owned)),
            ("mcp-name", name.map(header_text)),
        ];
        for (name, value) in named {
            let value = value.and_then(|value| HeaderValue::from_str(&value).ok());
            if let Some(value) = value {
                request.headers_mut().insert(name, value);
            }
        }
        request
    }

    /// Writes each message of a stream of events.
    async fn stream(
        &self,
        response: Response<Body>,
        asked: &Value,
        is_request: bool,
    ) -> Result<(), String> {
        let (mut body, mut events) = (response.into_body(), Events::default());
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| UNFINISHED)?.into_data() else { continue };
            for event in events.push(&data).map_err(|_| TOO_LARGE)? {
                let message: Value = serde_json::from_slice(&event)
                    .map_err(|_| "The backend sent what is no message.")?;
                if self.pass_on(message, asked).await && is_request {
                    return Ok(());
                }
            }
        }
        if is_request { Err(UNFINISHED.to_owned()) } else { Ok(()) }
    }

    /// Writes a message of the backend, and keeps the version that the answer to `initialize` names. Returns whether it
    /// is the answer. An answer to another request is not written: nobody could match it.
    async fn pass_on(&self, mut message: Value, asked: &Value) -> bool {
        let is_answer = message.get("method").is_none();
        if is_answer && message["id"].is_null() && message["error"].is_object() {
            // The backend refused the request before it read the id.
            message["id"] = asked["id"].clone();
        }
        if is_answer && message["id"] != asked["id"] {
            return false;
        }
        if asked["method"] == "initialize"
            && let Some(version) = message["result"]["protocolVersion"].as_str()
        {
            *self.version.lock().unwrap_or_else(PoisonError::into_inner) = Some(version.to_owned());
        }
        self.write(&message).await;
        is_answer
    }
}

/// Returns a text as it stands in a header: in Base64 where a header cannot hold it.
fn header_text(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if is_plain && text.trim() == text && !text.starts_with("=?base64?") {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", BASE64_STANDARD.encode(text))
    }
}

async fn collect(response: Response<Body>) -> Result<Vec<u8>, String> {
    let (mut body, mut all) = (response.into_body(), Vec::new());
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(|_| UNFINISHED)?.into_data() {
            all.extend_from_slice(&data);
        }
        if all.len() > MAX_MESSAGE_BYTES {
            return Err(TOO_LARGE.to_owned());
        }
    }
    Ok(all)
}
