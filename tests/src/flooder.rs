//! A raw HTTP/2 connection with hand-made frames, for flooding. It sends as fast as the peer reads,
//! within its limits, and only to this machine.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// The client's connection preface, with empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// The size of this end's send buffer, in bytes. By default, the system buffers megabytes for each
/// connection. That takes time of this machine that a remote flood would not take.
const SEND_BYTES: u32 = 64 * 1024;
/// The timeout of a write.
const WRITE_TIMEOUT: Duration = Duration::from_millis(250);

/// Frame types by number.
pub mod kind {
    /// `DATA`
    pub const DATA: u8 = 0;
    /// `HEADERS`
    pub const HEADERS: u8 = 1;
    /// `PRIORITY`
    pub const PRIORITY: u8 = 2;
    /// `RST_STREAM`
    pub const RST_STREAM: u8 = 3;
    /// `SETTINGS`
    pub const SETTINGS: u8 = 4;
    /// `PING`
    pub const PING: u8 = 6;
    /// `WINDOW_UPDATE`
    pub const WINDOW_UPDATE: u8 = 8;
    /// `CONTINUATION`
    pub const CONTINUATION: u8 = 9;
}

/// `END_STREAM`
pub const END_STREAM: u8 = 1;
/// `END_HEADERS`
pub const END_HEADERS: u8 = 4;

/// Returns one frame.
#[must_use]
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![len[1], len[2], len[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Returns the headers of a gRPC request to this path, and additional ones.
#[must_use]
pub fn headers(path: &str, others: &[(&str, &str)]) -> Vec<u8> {
    // `POST`, `http` and the names of the next three are in the static table of HPACK.
    let mut bytes = vec![0x83, 0x86];
    for (name, value) in
        [(vec![0x04], path), (vec![0x01], "x"), (vec![0x0f, 0x10], "application/grpc")]
    {
        bytes.extend(name);
        text(&mut bytes, value);
    }
    for (name, value) in [("te", "trailers")].iter().chain(others) {
        bytes.push(0);
        text(&mut bytes, name);
        text(&mut bytes, value);
    }
    bytes
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    let mut len = text.len();
    if len < 127 {
        bytes.push(u8::try_from(len).unwrap());
    } else {
        bytes.push(127);
        len -= 127;
        while len >= 128 {
            bytes.push(u8::try_from(len % 128).unwrap() | 128);
            len /= 128;
        }
        bytes.push(u8::try_from(len).unwrap());
    }
    bytes.extend(text.as_bytes());
}

/// A raw HTTP/2 connection.
#[derive(Debug)]
pub struct Flooder {
    stream: TcpStream,
    /// Whether it reads the peer's frames.
    reads: bool,
}

impl Flooder {
    /// Opens a raw connection from this address.
    ///
    /// # Errors
    /// It is rejected.
    ///
    /// # Panics
    /// Either address is not this machine's own.
    pub async fn connect(from: IpAddr, to: SocketAddr) -> std::io::Result<Self> {
        assert!(
            from.is_loopback() && to.ip().is_loopback(),
            "{from} and {to} must be this machine"
        );
        let socket = TcpSocket::new_v4()?;
        socket.set_send_buffer_size(SEND_BYTES)?;
        socket.bind((from, 0).into())?;
        Ok(Self { stream: socket.connect(to).await?, reads: true })
    }

    /// Opens a connection and sends the HTTP/2 preface.
    ///
    /// # Errors
    /// It is rejected.
    pub async fn greeted(from: IpAddr, to: SocketAddr, reads: bool) -> std::io::Result<Self> {
        let mut flooder = Self::connect(from, to).await?;
        flooder.reads = reads;
        flooder.send(PREFACE).await?;
        Ok(flooder)
    }

    /// Sends bytes, and reads what is available if `reads` is set. Returns false when the peer does not
    /// accept them now.
    ///
    /// # Errors
    /// The connection has ended.
    pub async fn send(&mut self, bytes: &[u8]) -> std::io::Result<bool> {
        if self.reads {
            self.take()?;
        }
        match timeout(WRITE_TIMEOUT, self.stream.write_all(bytes)).await {
            Ok(sent) => sent.map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// Reads what is available.
    fn take(&self) -> std::io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.stream.try_read(&mut buffer) {
                Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until the peer closes the connection. Returns false on timeout.
    pub async fn ended(&mut self, within: Duration) -> bool {
        let mut buffer = [0; 16 * 1024];
        let reading = async { while matches!(self.stream.read(&mut buffer).await, Ok(1..)) {} };
        timeout(within, reading).await.is_ok()
    }
}
