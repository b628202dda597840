//! Ways of talking that the door for devices does not have.

use std::sync::Arc;
use std::time::Duration;

use orion_mtls::SERVER_NAME;
use orion_tests::World;
use orion_wire::v1;
use orion_wire::v1::agent_service_client::AgentServiceClient;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, HandshakeKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::doors::handshake;
use super::ground::Ground;

/// What the door answers to these bytes, until it hangs up.
async fn answer(world: &World, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(world.device_address()).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // It may hang up by a reset where it left some unread.
    let read = stream.read_to_end(&mut answer);
    tokio::time::timeout(Duration::from_secs(20), read).await.unwrap().ok();
    answer
}

/// A greeting that knows TLS 1.2 and nothing newer.
pub(super) async fn tls_1_2(world: &World) {
    let mut hello = vec![3, 3];
    hello.extend([7; 32]);
    // No session; two cipher suites of TLS 1.2; no compression.
    hello.extend([0, 0, 4, 0xc0, 0x2b, 0xc0, 0x2f, 1, 0]);
    // Groups and signature schemes.
    let extensions =
        [&[0, 10, 0, 4, 0, 2, 0, 23][..], &[0, 11, 0, 2, 1, 0], &[0, 13, 0, 4, 0, 2, 4, 3]]
            .concat();
    hello.extend(u16::try_from(extensions.len()).unwrap().to_be_bytes());
    hello.extend(extensions);
    let length = u16::try_from(hello.len()).unwrap();
    let mut record = vec![22, 3, 1];
    record.extend((length + 4).to_be_bytes());
    record.extend([1, 0]);
    record.extend(length.to_be_bytes());
    record.extend(hello);
    // A fatal alert, protocol_version.
    assert_eq!(answer(world, &record).await, [21, 3, 3, 0, 2, 2, 70]);
}

/// HTTP/2 without TLS.
pub(super) async fn plain_http_2(world: &World) {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    assert_is_no_http(&answer(world, preface).await);
    let address = format!("http://{}", world.device_address());
    let connected = tonic::transport::Endpoint::from_shared(address).unwrap().connect().await;
    if let Ok(channel) = connected {
        let request = v1::RenewCertificateRequest::default();
        let answered = AgentServiceClient::new(channel).renew_certificate(request).await;
        // Nothing that the door would say.
        assert_eq!(answered.unwrap_err().metadata().len(), 0);
    }
}

/// Bytes that are nothing.
pub(super) async fn garbage(world: &World) {
    for bytes in [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], &[0; 100], &[0xff; 5_000]] {
        assert_is_no_http(&answer(world, bytes).await);
    }
}

/// At most an alert.
fn assert_is_no_http(answer: &[u8]) {
    assert!(answer.is_empty() || (answer[0] == 21 && answer.len() == 7), "{answer:?}");
}

/// HTTP/1.1 over good TLS with a good certificate, asked for and not.
pub(super) async fn http_1(ground: &Ground<'_>) {
    let mut tls = ground.kiosk.tls().as_ref().clone();
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    let alert = handshake(&ground.address(), &Arc::new(tls.clone())).await;
    assert_eq!(alert, Some(AlertDescription::NoApplicationProtocol));

    tls.alpn_protocols = Vec::new();
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let stream = TcpStream::connect(ground.address()).await.unwrap();
    let mut stream = TlsConnector::from(Arc::new(tls)).connect(name, stream).await.unwrap();
    let request = b"POST /orion.v1.AgentService/RenewCertificate HTTP/1.1\r\nHost: x\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut said = Vec::new();
    let read = stream.read_to_end(&mut said);
    tokio::time::timeout(Duration::from_secs(20), read).await.unwrap().ok();
    assert!(!said.windows(5).any(|window| window == b"HTTP/"), "{said:?}");
}

/// A client that resumes whenever it can, before and after its device is revoked.
pub(super) async fn resumed(world: &World, ground: &Ground<'_>) {
    let mut tls = ground.kiosk.tls().as_ref().clone();
    tls.resumption = Resumption::in_memory_sessions(8);
    let tls = Arc::new(tls);
    for _ in 0..3 {
        let name = ServerName::try_from(SERVER_NAME).unwrap();
        let stream = TcpStream::connect(ground.address()).await.unwrap();
        let mut stream = TlsConnector::from(Arc::clone(&tls)).connect(name, stream).await.unwrap();
        // Tickets would come with the first bytes.
        stream.read_u8().await.unwrap();
        let session = stream.get_ref().1;
        let seen = (session.handshake_kind(), session.tls13_tickets_received());
        assert_eq!(seen, (Some(HandshakeKind::Full), 0));
    }
    let (device, reason) = (ground.kiosk.id.clone(), String::new());
    let request = v1::RevokeDeviceRequest { device, reason };
    world.admin().devices().revoke_device(request).await.unwrap();
    let alert = handshake(&ground.address(), &tls).await;
    assert_eq!(alert, Some(AlertDescription::CertificateRevoked));
}
