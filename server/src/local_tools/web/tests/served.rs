//! A web server of the test's own, which counts its connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A server that gives every request the same answer.
#[derive(Debug)]
pub(super) struct Site {
    /// Where it listens.
    pub(super) port: u16,
    connections: Arc<AtomicUsize>,
    requests: Arc<std::sync::Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl Site {
    pub(super) async fn start(status: &str, headers: &str, body: &[u8]) -> Self {
        Self::on("127.0.0.1", 0, status, headers, body).await
    }

    pub(super) async fn on(ip: &str, port: u16, status: &str, headers: &str, body: &[u8]) -> Self {
        let listener = TcpListener::bind((ip, port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let head = format!(
            "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let answer = [head.as_bytes(), body].concat();
        let connections = Arc::new(AtomicUsize::new(0));
        let requests = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (counted, seen) = (Arc::clone(&connections), Arc::clone(&requests));
        let serving = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                counted.fetch_add(1, Ordering::SeqCst);
                let mut buffer = vec![0; 64 * 1024];
                let read = stream.read(&mut buffer).await.unwrap_or_default();
                seen.lock().unwrap().push(String::from_utf8_lossy(&buffer[..read]).into_owned());
                let _ = stream.write_all(&answer).await;
                let _ = stream.shutdown().await;
            }
        });
        Self { port, connections, requests, serving }
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
