//! A model server whose answers a test releases one by one, and that detects a disconnected caller.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::eventually::PATIENCE;

/// A server in the form of OpenAI's chat completions, on a free loopback port.
#[derive(Debug)]
pub struct HeldModel {
    /// The section of `orion-server.toml` that configures it.
    pub section: String,
    asked: mpsc::Receiver<HeldRequest>,
}

/// One request that waits for its answer.
#[derive(Debug)]
pub struct HeldRequest {
    /// The request's body.
    pub body: Value,
    stream: TcpStream,
}

impl HeldModel {
    /// Starts listening.
    ///
    /// # Panics
    /// There is no free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, asked) = mpsc::channel(64);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if let Some(request) = read(stream).await
                    && sender.send(request).await.is_err()
                {
                    return;
                }
            }
        });
        let section = format!(
            "[[models]]\nname = \"held\"\nkind = \"openai\"\nurl = \"http://{address}/v1\"\nmodel = \"any\"\n"
        );
        Self { section, asked }
    }

    /// Returns the next request.
    ///
    /// # Panics
    /// There is none.
    pub async fn asked(&mut self) -> HeldRequest {
        tokio::time::timeout(PATIENCE, self.asked.recv()).await.expect("no request").unwrap()
    }
}

impl HeldRequest {
    /// Returns the last message that a person wrote.
    #[must_use]
    pub fn said(&self) -> &str {
        let messages = self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let said = messages.iter().rfind(|message| message["role"] == "user");
        said.and_then(|message| message["content"].as_str()).unwrap_or_default()
    }

    /// Answers with text.
    pub async fn answer(self, words: &str) {
        self.give(&json!({"content": words})).await;
    }

    /// Answers with these calls: tool and arguments.
    pub async fn call(self, calls: &[(&str, Value)]) {
        let calls: Vec<_> = (0..)
            .zip(calls)
            .map(|(index, (name, arguments))| {
                let function = json!({"name": name, "arguments": arguments.to_string()});
                json!({"index": index, "id": format!("c{index}"), "type": "function", "function": function})
            })
            .collect();
        self.give(&json!({"tool_calls": calls})).await;
    }

    /// Begins an answer with text, and does not end it.
    ///
    /// # Panics
    /// The caller has disconnected.
    pub async fn begin(&mut self, words: &str) {
        let event = json!({"choices": [{"delta": {"content": words}}]});
        self.stream.write_all(format!("{HEAD}data: {event}\n\n").as_bytes()).await.unwrap();
    }

    /// Waits until the caller drops its request.
    ///
    /// # Panics
    /// It does not.
    pub async fn dropped(mut self) {
        let mut byte = [0];
        let closed = tokio::time::timeout(PATIENCE, self.stream.read(&mut byte)).await;
        let closed = closed.expect("the request to the model is still open");
        assert!(matches!(closed, Ok(0) | Err(_)), "more than one request on a connection");
    }

    async fn give(mut self, delta: &Value) {
        let event = json!({"choices": [{"delta": delta, "finish_reason": "stop"}]});
        let text = format!("{HEAD}data: {event}\n\ndata: [DONE]\n\n");
        // The caller may have disconnected.
        let _ = self.stream.write_all(text.as_bytes()).await;
    }
}

const HEAD: &str =
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n";

async fn read(mut stream: TcpStream) -> Option<HeldRequest> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
        if bytes.len() >= end + 4 + length.parse::<usize>().ok()? {
            let body = serde_json::from_slice(&bytes[end + 4..]).ok()?;
            return Some(HeldRequest { body, stream });
        }
    }
}
