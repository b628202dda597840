//! A model server that sends exactly the bytes that a test prescribes, however wrong, for many models at once:
//! the first part of the path names the script.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The head of an ordinary stream.
pub const STREAM: &str =
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n";

/// What is sent for one request.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// The bytes, in the pieces in which they are written.
    pub pieces: Vec<Vec<u8>>,
    /// How long to wait after each piece.
    pub pause: Duration,
    /// What follows the pieces.
    pub then: Then,
}

/// What follows a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Then {
    /// The connection is closed.
    #[default]
    Closes,
    /// Nothing, while the connection stays open.
    Silent,
    /// The last piece again and again, until nobody reads.
    Repeats,
}

impl Reply {
    /// Creates a stream of these bytes.
    #[must_use]
    pub fn stream(body: impl AsRef<[u8]>) -> Self {
        Self::raw([STREAM.as_bytes(), body.as_ref()].concat())
    }

    /// Creates a reply of exactly these bytes.
    #[must_use]
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { pieces: vec![bytes.into()], ..Self::default() }
    }
}

/// A running server.
#[derive(Debug)]
pub struct ScriptedModel {
    address: String,
}

impl ScriptedModel {
    /// Starts a server with these scripts: a name, and a reply for each request in turn. `last` answers every
    /// request after them.
    ///
    /// # Panics
    /// There is no free port.
    pub async fn start(scripts: HashMap<String, Vec<Reply>>, last: Reply) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let scripts: HashMap<String, (AtomicUsize, Vec<Reply>)> = scripts
            .into_iter()
            .map(|(name, replies)| (name, (AtomicUsize::new(0), replies)))
            .collect();
        let (scripts, last) = (Arc::new(scripts), Arc::new(last));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (scripts, last) = (Arc::clone(&scripts), Arc::clone(&last));
                tokio::spawn(async move {
                    // The caller may leave whenever it wants.
                    let _ = answer(stream, &scripts, &last).await;
                });
            }
        });
        Self { address }
    }

    /// Returns the base address of a script.
    #[must_use]
    pub fn url(&self, name: &str) -> String {
        format!("http://{}/{name}/v1", self.address)
    }
}

async fn answer(
    mut stream: TcpStream,
    scripts: &HashMap<String, (AtomicUsize, Vec<Reply>)>,
    last: &Reply,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let name = read(&mut stream).await?;
    let reply = scripts
        .get(&name)
        .and_then(|(next, replies)| replies.get(next.fetch_add(1, Ordering::Relaxed)))
        .unwrap_or(last);
    for piece in &reply.pieces {
        stream.write_all(piece).await?;
        if !reply.pause.is_zero() {
            tokio::time::sleep(reply.pause).await;
        }
    }
    match (reply.then, reply.pieces.last()) {
        (Then::Repeats, Some(piece)) => loop {
            stream.write_all(piece).await?;
        },
        (Then::Silent, _) => {
            // Ends when the caller closes the connection.
            let mut byte = [0];
            stream.read(&mut byte).await.map(drop)
        }
        (Then::Closes | Then::Repeats, _) => stream.shutdown().await,
    }
}

/// Reads a request, and returns the first part of its path.
async fn read(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(String::new());
        }
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let lower = head.to_ascii_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or_default();
        if bytes.len() >= end + 4 + length {
            return Ok(head.split('/').nth(1).unwrap_or_default().to_owned());
        }
    }
}
