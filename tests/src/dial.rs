//! Connects to a backend's device listener with a given TLS configuration.

use std::net::IpAddr;
use std::sync::Arc;

use hyper_util::rt::TokioIo;
use orion_mtls::SERVER_NAME;
use orion_wire::v1::agent_service_client::AgentServiceClient;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpSocket;
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

/// Opens a connection to the listener at `address`.
///
/// # Errors
/// The listener cannot be reached, or the handshake failed on this side.
pub async fn channel(
    address: &str,
    tls: Arc<ClientConfig>,
) -> Result<Channel, tonic::transport::Error> {
    channel_from(IpAddr::from([127, 0, 0, 1]), address, tls).await
}

/// Connects from another address of this machine, which has its own rate limits.
///
/// # Errors
/// As [`channel`].
pub async fn channel_from(
    from: IpAddr,
    address: &str,
    tls: Arc<ClientConfig>,
) -> Result<Channel, tonic::transport::Error> {
    let address = address.to_owned();
    let connector = service_fn(move |_: Uri| {
        let (address, connector) = (address.clone(), TlsConnector::from(Arc::clone(&tls)));
        async move {
            let socket = TcpSocket::new_v4()?;
            socket.bind((from, 0).into())?;
            let to = address.parse().map_err(std::io::Error::other)?;
            let stream = socket.connect(to).await?;
            stream.set_nodelay(true)?;
            let name = ServerName::try_from(SERVER_NAME).unwrap();
            Ok::<_, std::io::Error>(TokioIo::new(connector.connect(name, stream).await?))
        }
    });
    Endpoint::from_static("http://orion-server").connect_with_connector(connector).await
}

/// Connects as an agent does.
///
/// # Errors
/// As [`channel`].
pub async fn connect(
    address: &str,
    tls: Arc<ClientConfig>,
) -> Result<AgentServiceClient<Channel>, tonic::transport::Error> {
    Ok(AgentServiceClient::new(channel(address, tls).await?))
}
