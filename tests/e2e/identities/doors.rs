//! Knocking: first whether TLS lets somebody in, then every RPC that the door has.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use orion_mtls::SERVER_NAME;
use orion_tests::{Linked, connect};
use orion_wire::v1;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, ClientConfig};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tonic::{Code, Status};

use super::ground::Ground;

/// How a refusal reads: its code, and words in its message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said(pub(super) Code, pub(super) &'static str);

impl Said {
    pub(super) fn fits(self, status: &Status) -> bool {
        status.code() == self.0 && status.message().contains(self.1)
    }
}

/// What became of a knock.
#[derive(Debug)]
pub(super) enum Refused {
    /// TLS ended with this alert.
    Handshake(AlertDescription),
    /// TLS let it in, and nothing was done for it.
    Answers { link: Status, renew: Status },
    /// Something was done for it: this.
    Accepted(&'static str),
}

/// Tries everything that is there with one client configuration.
pub(super) async fn knock(ground: &Ground<'_>, tls: ClientConfig) -> Refused {
    let tls = Arc::new(tls);
    let alert = handshake(&ground.address(), &tls).await;
    // Whatever TLS said, ask all the same.
    let link = match connect(&ground.address(), Arc::clone(&tls)).await {
        Ok(client) => Linked::greet(client, 500).await.map(drop),
        Err(error) => Err(Status::unavailable(error.to_string())),
    };
    let Err(link) = link else { return Refused::Accepted("the stream") };
    let certificate_request = ground.kiosk.key.csr().unwrap();
    let renew = match connect(&ground.address(), Arc::clone(&tls)).await {
        Ok(mut client) => {
            let request = v1::RenewCertificateRequest { certificate_request, ..Default::default() };
            client.renew_certificate(request).await.map(drop)
        }
        Err(error) => Err(Status::unavailable(error.to_string())),
    };
    let Err(renew) = renew else { return Refused::Accepted("a renewal") };
    let Some(alert) = alert else { return Refused::Answers { link, renew } };
    // Enrolling is open to who shows no certificate, and not to who shows a bad one.
    let enrolled = match ground.enrolling(tls).await {
        Ok(mut client) => client.enroll(ground.request(ground.a_csr())).await.is_ok(),
        Err(_) => false,
    };
    if enrolled { Refused::Accepted("an enrolment") } else { Refused::Handshake(alert) }
}

/// The alert that a handshake ends with; none where the door begins to speak HTTP/2.
pub(super) async fn handshake(address: &str, tls: &Arc<ClientConfig>) -> Option<AlertDescription> {
    let alert = |error: io::Error| {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match inner {
            Some(rustls::Error::AlertReceived(alert)) => Some(*alert),
            other => panic!("neither an alert nor an answer: {other:?} {error:?}"),
        }
    };
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let mut stream = match TlsConnector::from(Arc::clone(tls)).connect(name, stream).await {
        Ok(stream) => stream,
        Err(error) => return alert(error),
    };
    // The door speaks first, or says why not: in TLS 1.3 it judges after this side is done.
    let first = tokio::time::timeout(Duration::from_secs(20), stream.read_u8()).await;
    match first.unwrap() {
        Ok(_) => None,
        Err(error) => alert(error),
    }
}
