//! The two listeners: plain or TLS sockets. Each handshake runs in a task of its own with a time limit, so
//! that a slow or hostile peer blocks nobody else. What a peer can make this side hold is bounded here,
//! before any of its requests is read.

mod budget;
pub mod connections;
pub mod descriptors;
mod frames;
pub mod http;
mod metered;
mod port;
mod source;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use orion_mtls::DeviceIdentity;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tower::Service;

use self::connections::{ConnectionLimits, ConnectionTable, Owner};
use self::http::HttpLimits;
pub use port::open_port;
pub use source::Source;

/// How often connections are checked for timeouts.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The other end of a connection, for handlers.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The peer's address.
    pub address: SocketAddr,
    /// The device that the handshake identified. None where no certificate was shown.
    pub device: Option<Arc<DeviceIdentity>>,
    /// When the connection began, before its handshake.
    pub since: Instant,
}

/// An accepted connection.
#[derive(Debug)]
struct Connection {
    peer: Peer,
    stream: Stream,
}

/// A plain connection, or one behind TLS.
type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// A bound port, ready to be served.
#[derive(Debug)]
pub struct Door {
    /// The listening socket.
    pub listener: TcpListener,
    /// The TLS configuration. None for plain connections.
    pub tls: Option<Arc<ServerConfig>>,
    /// The limits on connections and their timeouts.
    pub limits: ConnectionLimits,
    /// The HTTP limits of each connection.
    pub http: HttpLimits,
}

impl Door {
    /// Serves until the token is cancelled, and then until the open connections have ended.
    pub async fn serve<S>(self, service: S, shutdown: CancellationToken)
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>
            + Clone
            + Send
            + 'static,
        S::Future: Send,
    {
        let Self { listener, tls, limits, http } = self;
        let (acceptor, handshake) = (tls.map(TlsAcceptor::from), limits.handshake);
        let (table, connections) = (ConnectionTable::new(limits), TaskTracker::new());
        let mut sweep = tokio::time::interval(SWEEP_INTERVAL);
        loop {
            let accepted = tokio::select! {
                () = shutdown.cancelled() => break,
                _ = sweep.tick() => {
                    table.sweep(Instant::now());
                    continue;
                }
                accepted = listener.accept() => accepted,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Usually the process is out of descriptors: wait until some are closed.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let since = Instant::now();
            let peer = Peer { address, device: None, since };
            let Some(admission) = table.admit(Source::of(&peer), since) else { continue };
            let (acceptor, service, shutdown) =
                (acceptor.clone(), service.clone(), shutdown.clone());
            connections.spawn(async move {
                let state = Arc::clone(admission.state());
                let secured = async {
                    if let Some(delay) = admission.delay() {
                        tokio::time::sleep(delay).await;
                    }
                    tokio::time::timeout(handshake, shake(stream, peer, acceptor)).await
                };
                let shaken = tokio::select! {
                    () = state.closed() => return,
                    shaken = secured => shaken,
                };
                match shaken {
                    Ok(Ok(connection)) => {
                        if let Some(device) = &connection.peer.device {
                            admission.belongs_to(&Owner::Device(device.device_id.clone()));
                        }
                        let admission = Arc::new(admission);
                        http::serve(connection, admission, http, service, shutdown).await;
                    }
                    Ok(Err(error)) => {
                        tracing::info!(%address, %error, "a handshake was refused");
                    }
                    Err(_) => tracing::info!(%address, "a handshake took too long"),
                }
            });
        }
        drop(listener);
        connections.close();
        while tokio::time::timeout(SWEEP_INTERVAL, connections.wait()).await.is_err() {
            table.sweep(Instant::now());
        }
    }
}

async fn shake(
    stream: TcpStream,
    peer: Peer,
    acceptor: Option<TlsAcceptor>,
) -> io::Result<Connection> {
    stream.set_nodelay(true)?;
    let Some(acceptor) = acceptor else {
        return Ok(Connection { peer, stream: Either::Left(stream) });
    };
    let stream = acceptor.accept(stream).await?;
    let device = DeviceIdentity::from_peer_certificates(stream.get_ref().1.peer_certificates())
        .map_err(io::Error::other)?
        .map(Arc::new);
    let peer = Peer { device, ..peer };
    Ok(Connection { peer, stream: Either::Right(Box::new(stream)) })
}
