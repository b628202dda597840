//! From an address to a gRPC channel. TCP and TLS are established here, so that a failure keeps its
//! reason; gRPC gets an open connection, and no second one.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use orion_mtls::{Refusal, SERVER_NAME};
use orion_wire::LINK_WINDOW;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint};

use super::ConnectError;
use super::watched::{Verdict, Watched};

/// Timeout for TCP, and again for TLS.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A half-open connection is detected within the sum of these two.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(8);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(8);

/// An open connection.
#[derive(Debug)]
pub struct Dialled {
    /// The channel for RPCs.
    pub channel: Channel,
    /// The address that was dialled, `host:port`.
    pub address: String,
    verdict: Verdict,
}

impl Dialled {
    /// Returns the reason for which the backend refused the TLS connection. None if it did not.
    #[must_use]
    pub fn verdict(&self) -> Option<Refusal> {
        self.verdict.get().copied()
    }

    /// Wraps a channel that was made elsewhere.
    #[doc(hidden)]
    #[must_use]
    pub fn given(channel: Channel, address: String) -> Self {
        Self { channel, address, verdict: Verdict::default() }
    }

    /// Returns the error that a failed RPC stands for.
    #[must_use]
    pub fn error(&self, status: &tonic::Status) -> ConnectError {
        ConnectError::from_status(status, self.verdict())
    }
}

/// Dials `host:port`. Whatever the address, the backend must prove to be [`SERVER_NAME`].
///
/// # Errors
/// [`ConnectError`]. A wrong backend is detected before any application data is sent.
pub async fn dial(address: &str, tls: Arc<ClientConfig>) -> Result<Dialled, ConnectError> {
    let late = |_| ConnectError::TimedOut { address: address.to_owned() };
    let unreachable =
        |error: io::Error| ConnectError::Unreachable { address: address.to_owned(), error };
    let tcp =
        timeout(TIMEOUT, TcpStream::connect(address)).await.map_err(late)?.map_err(unreachable)?;
    tcp.set_nodelay(true).map_err(unreachable)?;
    let name = ServerName::try_from(SERVER_NAME)
        .map_err(|error| ConnectError::Protocol(error.to_string()))?;
    let stream = timeout(TIMEOUT, TlsConnector::from(tls).connect(name, tcp))
        .await
        .map_err(late)?
        .map_err(|error| match Refusal::find(&error) {
            Some(refusal) => ConnectError::Certificate(refusal),
            None => unreachable(error),
        })?;

    let verdict = Arc::new(OnceLock::new());
    let mut stream = Some(TokioIo::new(Watched { stream, verdict: Arc::clone(&verdict) }));
    let connector = tower::service_fn(move |_| {
        let stream = stream.take();
        async move { stream.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected)) }
    });
    // The scheme is a placeholder: the stream is TLS already.
    let channel = Endpoint::from_static("http://orion-server")
        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(LINK_WINDOW)
        .initial_connection_window_size(2 * LINK_WINDOW)
        .buffer_size(32)
        .connect_with_connector(connector)
        .await
        .map_err(|error| match verdict.get().copied().or_else(|| Refusal::find(&error)) {
            Some(refusal) => ConnectError::Certificate(refusal),
            None => ConnectError::Ended(error.to_string()),
        })?;
    Ok(Dialled { channel, address: address.to_owned(), verdict })
}
