//! A server that sends prepared bytes and keeps the requests.

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// One response: the pieces in which it is written, and whether the connection stays open after them.
pub(super) struct Reply {
    pub(super) pieces: Vec<Vec<u8>>,
    pub(super) stays_open: bool,
}

impl Reply {
    /// Creates a response with a status and a body of known length.
    pub(super) fn whole(status: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        let text = format!(
            "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        Self { pieces: vec![text.into_bytes()], stays_open: false }
    }

    /// Creates a stream in one piece that ends with the connection.
    pub(super) fn stream(body: &str) -> Self {
        Self::cut(body.as_bytes(), &[])
    }

    /// Creates a stream that is cut at each of `cuts`.
    pub(super) fn cut(body: &[u8], cuts: &[usize]) -> Self {
        let head =
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n";
        let mut pieces = vec![head.to_vec()];
        let mut start = 0;
        for end in cuts.iter().copied().chain([body.len()]) {
            pieces.push(body[start..end].to_vec());
            start = end;
        }
        Self { pieces, stays_open: false }
    }

    /// Creates a chunked body that breaks off before its end.
    pub(super) fn broken(body: &str) -> Self {
        let text = format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n",
            body.len()
        );
        Self { pieces: vec![text.into_bytes()], stays_open: false }
    }
}

/// The head and the body of each request, and the connections, which stay open until this is dropped.
pub(super) struct Served {
    pub(super) asked: Vec<(String, Value)>,
    _open: Vec<TcpStream>,
}

/// Answers one connection after another with `replies`, then stops listening.
pub(super) async fn serve(replies: Vec<Reply>) -> (String, JoinHandle<Served>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = tokio::spawn(async move {
        let (mut asked, mut open) = (Vec::new(), Vec::new());
        for reply in replies {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            asked.push(read(&mut stream).await);
            for piece in &reply.pieces {
                // The client may have stopped reading.
                if stream.write_all(piece).await.is_err() {
                    break;
                }
                stream.flush().await.unwrap();
                tokio::task::yield_now().await;
            }
            if reply.stays_open {
                open.push(stream);
            }
        }
        Served { asked, _open: open }
    });
    (address, serving)
}

async fn read(stream: &mut TcpStream) -> (String, Value) {
    let mut bytes = Vec::new();
    let head = loop {
        let mut more = [0; 4096];
        let length = stream.read(&mut more).await.unwrap();
        assert!(length > 0, "the request ends early");
        bytes.extend_from_slice(&more[..length]);
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let text = String::from_utf8(bytes[..head].to_vec()).unwrap();
    let length: usize = text
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned))
        .unwrap()
        .parse()
        .unwrap();
    let mut body = bytes.split_off(head);
    let got = body.len();
    body.resize(length, 0);
    stream.read_exact(&mut body[got..]).await.unwrap();
    (text, serde_json::from_slice(&body).unwrap())
}
