//! The two doors: plain or TLS sockets, each handshake in a task of its own with a time limit, so
//! that a slow or hostile peer holds up nobody else.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use orion_mtls::DeviceIdentity;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::Connected;

/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How many handshakes may be under way at once.
const HANDSHAKES: usize = 256;

/// Who is on the other end of a connection, for handlers.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Where from.
    pub address: SocketAddr,
    /// The device whose certificate was checked in the handshake, where one was shown.
    pub device: Option<Arc<DeviceIdentity>>,
    /// When the connection began, before its handshake.
    pub since: Instant,
}

/// One accepted connection.
#[derive(Debug)]
pub struct Connection {
    peer: Peer,
    stream: Stream,
}

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Accepts until the token is cancelled. Without `tls`, connections are plain.
#[must_use]
pub fn accept(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    shutdown: CancellationToken,
) -> ReceiverStream<io::Result<Connection>> {
    let (sender, receiver) = mpsc::channel(64);
    tokio::spawn(async move {
        let acceptor = tls.map(TlsAcceptor::from);
        let places = Arc::new(Semaphore::new(HANDSHAKES));
        loop {
            let accepted = tokio::select! {
                () = shutdown.cancelled() => return,
                () = sender.closed() => return,
                accepted = listener.accept() => accepted,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of descriptors, most likely: wait for some to come back.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                tracing::warn!(%address, "a connection was turned away: too many handshakes");
                continue;
            };
            let (acceptor, sender) = (acceptor.clone(), sender.clone());
            tokio::spawn(async move {
                let connection = tokio::time::timeout(HANDSHAKE, shake(stream, address, acceptor));
                match connection.await {
                    Ok(Ok(connection)) => {
                        drop(place);
                        let _ = sender.send(Ok(connection)).await;
                    }
                    Ok(Err(error)) => {
                        tracing::info!(%address, %error, "a handshake was refused");
                    }
                    Err(_) => tracing::info!(%address, "a handshake took too long"),
                }
            });
        }
    });
    ReceiverStream::new(receiver)
}

async fn shake(
    stream: TcpStream,
    address: SocketAddr,
    acceptor: Option<TlsAcceptor>,
) -> io::Result<Connection> {
    let since = Instant::now();
    stream.set_nodelay(true)?;
    let Some(acceptor) = acceptor else {
        return Ok(Connection {
            peer: Peer { address, device: None, since },
            stream: Stream::Plain(stream),
        });
    };
    let stream = acceptor.accept(stream).await?;
    let device = DeviceIdentity::from_peer_certificates(stream.get_ref().1.peer_certificates())
        .map_err(io::Error::other)?
        .map(Arc::new);
    Ok(Connection { peer: Peer { address, device, since }, stream: Stream::Tls(Box::new(stream)) })
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(context),
        }
    }
}
