//! Web servers on every address, with what they were connected at.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The ports that answer: those of the web, and those that the list names.
const PORTS: [u16; 13] = [22, 25, 80, 443, 2375, 2379, 3000, 8000, 8080, 8443, 9001, 11111, 11211];

/// Where the page `/redirect` leads, and with which status.
type Target = Arc<Mutex<(String, u16)>>;

/// The web servers.
pub(super) struct Sites {
    seen: Arc<Mutex<Vec<IpAddr>>>,
    target: Target,
}

impl Sites {
    /// Listens on every address at every port.
    pub(super) async fn start() -> Self {
        let (seen, target) = (Arc::default(), Target::default());
        for port in PORTS {
            // One socket for both families.
            let listener = TcpListener::bind(("::", port)).await.unwrap();
            tokio::spawn(accept(listener, Arc::clone(&seen), Arc::clone(&target)));
        }
        Self { seen, target }
    }

    /// The addresses that were connected to, in order.
    pub(super) fn connections(&self) -> Vec<IpAddr> {
        self.seen.lock().unwrap().clone()
    }

    /// Lets the page `/redirect` lead on.
    pub(super) fn redirect_to(&self, url: &str, status: u16) {
        *self.target.lock().unwrap() = (url.to_owned(), status);
    }

    /// Asserts that a connection to a forbidden address would be seen, and forgets those that it makes.
    pub(super) async fn assert_every_address_answers(&self) {
        let addresses = [
            "127.0.0.1",
            "10.0.0.1",
            "169.254.169.254",
            "192.168.0.1",
            "100.64.0.1",
            "::1",
            "fc00::1",
            "fd00:ec2::254",
        ];
        for address in addresses {
            let ip: IpAddr = address.parse().unwrap();
            let mut stream = TcpStream::connect(SocketAddr::new(ip, 80)).await.unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
            stream.read_to_end(&mut Vec::new()).await.unwrap();
        }
        assert_eq!(self.connections().len(), addresses.len());
        self.seen.lock().unwrap().clear();
    }
}

async fn accept(listener: TcpListener, seen: Arc<Mutex<Vec<IpAddr>>>, target: Target) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let at = stream.local_addr().unwrap().ip().to_canonical();
        seen.lock().unwrap().push(at);
        tokio::spawn(answer(stream, Arc::clone(&target)));
    }
}

async fn answer(mut stream: TcpStream, target: Target) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(count) => request.extend_from_slice(&buffer[..count]),
        }
    }
    let text = String::from_utf8_lossy(&request).into_owned();
    let answer = if text.split(' ').nth(1).is_some_and(|path| path == "/redirect") {
        let (url, status) = target.lock().unwrap().clone();
        format!(
            "HTTP/1.1 {status} Moved\r\nLocation: {url}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
    } else {
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 8\r\nConnection: close\r\n\r\nWelcome."
            .to_owned()
    };
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}
