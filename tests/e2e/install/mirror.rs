//! What is between a device and the port of people: passes requests on, and changes or cuts the answers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// What happens to answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    None,
    /// The last byte of the answer for paths with this part is another one.
    Flip(&'static str),
    /// The connection ends after this many bytes of the body, for paths with this part.
    Cut(&'static str, usize),
    /// The body is this one.
    Replace(&'static str, Vec<u8>),
}

/// A proxy that is no friend.
pub(super) struct Mirror {
    url: String,
    shared: Arc<Shared>,
    task: AbortHandle,
}

struct Shared {
    target: Mutex<String>,
    change: Mutex<Change>,
    requests: AtomicUsize,
}

impl Mirror {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            target: Mutex::default(),
            change: Mutex::new(Change::None),
            requests: AtomicUsize::new(0),
        });
        let passing = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let passing = Arc::clone(&passing);
                tokio::spawn(async move { pass(client, &passing).await });
            }
        });
        Self { url, shared, task: task.abort_handle() }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn leads_to(&self, address: &str) {
        address.clone_into(&mut self.shared.target.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn changes(&self, change: Change) {
        *self.shared.change.lock().unwrap_or_else(PoisonError::into_inner) = change;
    }

    /// How many requests there were.
    pub(super) fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::Acquire)
    }

    /// Gets what is at a path, changed as for everybody.
    pub(super) async fn get(&self, path: &str) -> Vec<u8> {
        let address = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        split(&answer).1.to_vec()
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(mut client: TcpStream, shared: &Shared) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match client.read(&mut byte).await {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    shared.requests.fetch_add(1, Ordering::AcqRel);
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    let target = shared.target.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let Ok(mut server) = TcpStream::connect(&target).await else { return };
    let request = format!("GET {path} HTTP/1.1\r\nhost: {target}\r\nconnection: close\r\n\r\n");
    server.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    if server.read_to_end(&mut answer).await.is_err() {
        return;
    }
    let (head, body) = split(&answer);
    let change = shared.change.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (head, body) = match change {
        Change::Flip(part) if path.contains(part) => {
            let mut body = body.to_vec();
            // The last byte of a script is a line break, which would be added again.
            let at = body.len() - 3;
            body[at] ^= 1;
            (head.to_vec(), body)
        }
        Change::Cut(part, length) if path.contains(part) => {
            (head.to_vec(), body[..length.min(body.len())].to_vec())
        }
        Change::Replace(part, body) if path.contains(part) => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            (head.into_bytes(), body)
        }
        Change::None | Change::Flip(_) | Change::Cut(..) | Change::Replace(..) => {
            (head.to_vec(), body.to_vec())
        }
    };
    // A client may be gone before it has read everything.
    let _ = client.write_all(&head).await;
    let _ = client.write_all(&body).await;
    let _ = client.shutdown().await;
}

fn split(answer: &[u8]) -> (&[u8], &[u8]) {
    let at = answer.windows(4).position(|it| it == b"\r\n\r\n").map_or(answer.len(), |at| at + 4);
    answer.split_at(at)
}
