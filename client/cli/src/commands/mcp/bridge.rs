//! Carries messages between standard input and output and the backend's `/mcp`. Each message is a request of its own;
//! its answer, or the stream of its answers, comes back line by line.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tonic::body::Body;
use tonic::codegen::http::{HeaderValue, Request, Response, StatusCode, header};

use crate::client::Client;
use crate::failure::Failure;

/// Maximum length of a line of the program, in bytes; the backend reads no more.
const MAX_LINE_BYTES: u64 = 1024 * 1024;
/// Maximum size of one message of the backend, in bytes.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// How long requests may take once standard input has ended.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(2);
/// How many requests are under way at once.
const MAX_REQUESTS: usize = 64;
/// The name of the protocol's version among the metadata of a request.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// What the requests of a program share.
struct Bridge {
    client: Client,
    lines: mpsc::Sender<String>,
    room: Semaphore,
    /// The version that the program and the backend agreed on at `initialize`.
    version: Mutex<Option<String>>,
    /// The requests under way, by their ids as JSON.
    open: Mutex<HashMap<String, AbortHandle>>,
}

/// Serves until standard input ends.
pub(super) async fn run(client: &Client) -> Result<(), Failure> {
    let (lines, mut ready) = mpsc::channel::<String>(64);
    let bridge = Arc::new(Bridge {
        client: client.clone(),
        lines,
        room: Semaphore::new(MAX_REQUESTS),
        version: Mutex::default(),
        open: Mutex::default(),
    });
    let writer = tokio::spawn(async move {
        let mut output = tokio::io::stdout();
        while let Some(line) = ready.recv().await {
            if output.write_all(format!("{line}\n").as_bytes()).await.is_err()
                || output.flush().await.is_err()
            {
                return;
            }
        }
    });
    let mut input = BufReader::new(tokio::io::stdin());
    let mut requests = JoinSet::new();
    loop {
        let mut line = Vec::new();
        let read = (&mut input).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await;
        let read = read.map_err(|error| Failure::Failed(format!("standard input: {error}")))?;
        if read == 0 || writer.is_finished() {
            break;
        }
        if !line.ends_with(b"\n") && line.len() as u64 >= MAX_LINE_BYTES {
            return Err(Failure::Failed("a message is longer than 1 MiB".to_owned()));
        }
        while requests.try_join_next().is_some() {}
        let Ok(message) = serde_json::from_slice::<Value>(&line) else {
            if !line.trim_ascii().is_empty() {
                bridge.fail(&Value::Null, -32700, "This line is no JSON.").await;
            }
            continue;
        };
        if message["method"] == "notifications/cancelled" {
            // The end of its stream cancels a request.
            bridge.close(&message["params"]["requestId"]);
            continue;
        }
        let (shared, id) = (Arc::clone(&bridge), message["id"].clone());
        let task = requests.spawn(async move { shared.carry(message).await });
        if !id.is_null() {
            bridge.opened().insert(id.to_string(), task);
        }
    }
    // The program has left. What it asked last is answered if that is soon, and else cancelled.
    let answered = async { while requests.join_next().await.is_some() {} };
    tokio::time::timeout(LAST_ANSWERS_TIMEOUT, answered).await.ok();
    drop(requests);
    drop(bridge);
    writer.await.ok();
    Ok(())
}

impl Bridge {
    fn opened(&self) -> std::sync::MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self, id: &Value) {
        if let Some(task) = self.opened().remove(&id.to_string()) {
            task.abort();
        }
    }

    /// Sends a message, and writes what comes back.
    async fn carry(&self, message: Value) {
        let id = message["id"].clone();
        let Ok(_place) = self.room.acquire().await else { return };
        let is_initialize = message["method"] == "initialize";
        if let Err(why) = self.exchange(message, is_initialize).await {
            self.fail(&id, -32000, &why).await;
        }
        self.opened().remove(&id.to_string());
    }

    async fn exchange(&self, message: Value, is_initialize: bool) -> Result<(), String> {
        let is_request = !message["id"].is_null() && message["method"].is_string();
        let response = self.client.http(self.request(&message)).await?;
        let status = response.status();
        let content_type = response.headers().get(header::CONTENT_TYPE);
        let is_stream = content_type.is_some_and(|it| it.as_bytes().starts_with(b"text/event"));
        if is_stream {
            return self.stream(response, is_initialize).await;
        }
        let body = collect(response).await?;
        match serde_json::from_slice::<Value>(&body) {
            Ok(answer) if answer["jsonrpc"].is_string() => {
                self.write(answer, is_initialize).await;
                Ok(())
            }
            _ if status.is_success() && !is_request => Ok(()),
            _ if status == StatusCode::UNAUTHORIZED => {
                Err("Nobody is signed in any more. Run `orion login`.".to_owned())
            }
            Ok(answer) => {
                let said = answer["error"]["message"].as_str().unwrap_or("no reason was given");
                Err(format!("The backend answered {status}: {said}"))
            }
            Err(_) => Err(format!("The backend answered {status}.")),
        }
    }

    fn request(&self, message: &Value) -> Request<Body> {
        let body = http_body_util::Full::new(message.to_string().into());
        let mut request = Request::new(Body::new(body));
        *request.method_mut() = tonic::codegen::http::Method::POST;
        *request.uri_mut() = tonic::codegen::http::Uri::from_static("/mcp");
        let params = &message["params"];
        let agreed = self.version.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let version = params["_meta"][VERSION_KEY].as_str().map(str::to_owned).or(agreed);
        let name = params["name"].as_str().or_else(|| params["uri"].as_str());
        let named = [
            ("content-type", Some("application/json")),
            ("accept", Some("application/json, text/event-stream")),
            ("mcp-protocol-version", version.as_deref()),
            ("mcp-method", message["method"].as_str()),
            ("mcp-name", name),
        ];
        for (name, value) in named {
            let value = value.and_then(|value| HeaderValue::from_str(value).ok());
            if let Some(value) = value {
                request.headers_mut().insert(name, value);
            }
        }
        request
    }

    /// Writes each message of a stream of events.
    async fn stream(&self, response: Response<Body>, is_initialize: bool) -> Result<(), String> {
        let (mut body, mut held) = (response.into_body(), Vec::new());
        while let Some(frame) = body.frame().await {
            let frame =
                frame.map_err(|error| format!("The answer broke off: {}", error.message()))?;
            let Ok(data) = frame.into_data() else { continue };
            held.extend(data.iter().filter(|byte| **byte != b'\r'));
            while let Some(end) = held.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = held.drain(..end + 2).collect();
                let event = String::from_utf8_lossy(&event);
                let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
                let data = lines.map(str::trim_start).collect::<Vec<_>>().join("\n");
                if let Ok(message) = serde_json::from_str::<Value>(&data) {
                    self.write(message, is_initialize).await;
                }
            }
            if held.len() > MAX_MESSAGE_BYTES {
                return Err("An answer is too large.".to_owned());
            }
        }
        Ok(())
    }

    async fn write(&self, message: Value, is_initialize: bool) {
        if is_initialize && let Some(version) = message["result"]["protocolVersion"].as_str() {
            *self.version.lock().unwrap_or_else(PoisonError::into_inner) = Some(version.to_owned());
        }
        // Fails where the program has closed its end.
        let _ = self.lines.send(message.to_string()).await;
    }

    async fn fail(&self, id: &Value, code: i64, why: &str) {
        let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}});
        let _ = self.lines.send(error.to_string()).await;
    }
}

async fn collect(response: Response<Body>) -> Result<Vec<u8>, String> {
    let (mut body, mut all) = (response.into_body(), Vec::new());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| format!("The answer broke off: {}", error.message()))?;
        if let Ok(data) = frame.into_data() {
            all.extend_from_slice(&data);
        }
        if all.len() > MAX_MESSAGE_BYTES {
            return Err("An answer is too large.".to_owned());
        }
    }
    Ok(all)
}
