//! A device without a process or a folder: it enrols as every device does and keeps its identity in
//! memory, so that a test can have many.

use std::net::IpAddr;
use std::sync::Arc;

use orion_mtls::{DeviceKey, Fingerprint, PinSet, mutual, pinned};
use orion_wire::v1::agent_service_client::AgentServiceClient;
use orion_wire::v1::enrollment_service_client::EnrollmentServiceClient;
use orion_wire::v1::link_request;
use orion_wire::{EnrollmentToken, PROTOCOL, ProtocolVersion, v1};
use rustls::ClientConfig;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use crate::dial::{channel_from, connect};
use crate::eventually::PATIENCE;

/// An enrolled device without a process.
#[derive(Debug)]
pub struct Enrolled {
    /// The device's id.
    pub id: String,
    /// The device's name.
    pub name: String,
    /// The device's key.
    pub key: DeviceKey,
    /// The device's certificate, PEM.
    pub certificate: String,
    /// The authorities that it received, PEM.
    pub authorities: Vec<String>,
}

/// A stream on which the backend accepted the device.
#[derive(Debug)]
pub struct Linked {
    /// The device's messages; open for as long as the device sends.
    pub to_backend: mpsc::Sender<v1::LinkRequest>,
    from_backend: Streaming<v1::LinkResponse>,
}

/// Returns the enrolment service as a device reaches it: over a connection that checks the token's pins.
///
/// # Panics
/// The backend cannot be reached, or is not the pinned one.
pub async fn enrolling(token: &EnrollmentToken) -> EnrollmentServiceClient<Channel> {
    enrolling_from(IpAddr::from([127, 0, 0, 1]), token).await
}

/// Does the same from another address of this machine.
///
/// # Panics
/// As [`enrolling`].
pub async fn enrolling_from(
    from: IpAddr,
    token: &EnrollmentToken,
) -> EnrollmentServiceClient<Channel> {
    let pins = token.pins.iter().map(|pin| Fingerprint(*pin.as_bytes()));
    let tls = pinned(PinSet::new(pins).unwrap()).unwrap();
    let channel = channel_from(from, token.addresses.first().unwrap(), tls).await.unwrap();
    EnrollmentServiceClient::new(channel)
}

/// Returns the enrolment request of a device with this certificate signing request (PEM).
#[must_use]
pub fn enroll_request(token: &EnrollmentToken, name: &str, csr: String) -> v1::EnrollRequest {
    v1::EnrollRequest {
        invite_id: token.invite_id.to_string(),
        secret: token.secret.expose().to_owned(),
        certificate_request: csr,
        suggested_name: name.to_owned(),
        hostname: name.to_owned(),
        os: "linux".to_owned(),
        ticket: String::new(),
        arch: "x86_64".to_owned(),
    }
}

impl Enrolled {
    /// Enrols with a preapproved token.
    ///
    /// # Errors
    /// The backend rejects it.
    ///
    /// # Panics
    /// The token is not preapproved.
    pub async fn with(token: &EnrollmentToken, name: &str) -> Result<Self, Status> {
        Self::coming_from(IpAddr::from([127, 0, 0, 1]), token, name).await
    }

    /// Enrols from another address of this machine, because attempts are limited for each address.
    ///
    /// # Errors
    /// As [`Enrolled::with`].
    ///
    /// # Panics
    /// As [`Enrolled::with`].
    pub async fn coming_from(
        address: IpAddr,
        token: &EnrollmentToken,
        name: &str,
    ) -> Result<Self, Status> {
        let key = DeviceKey::generate().unwrap();
        let request = enroll_request(token, name, key.csr().unwrap());
        let answer = enrolling_from(address, token).await.enroll(request).await?.into_inner();
        let issued = answer.certificate.expect("the token is pre-approved");
        Ok(Self {
            id: answer.device_id,
            name: answer.device_name,
            key,
            certificate: issued.certificate,
            authorities: issued.authorities,
        })
    }

    /// Returns its TLS configuration.
    ///
    /// # Panics
    /// Its parts do not belong together.
    #[must_use]
    pub fn tls(&self) -> Arc<ClientConfig> {
        mutual(&self.authorities, &self.certificate, &self.key).unwrap()
    }

    /// Connects with its own certificate and sends its hello.
    ///
    /// # Errors
    /// The backend does not accept it.
    pub async fn link(&self, address: &str, generation: u64) -> Result<Linked, Status> {
        let client = connect(address, self.tls())
            .await
            .map_err(|error| Status::unavailable(error.to_string()))?;
        Linked::greet(client, generation).await
    }
}

impl Linked {
    /// Sends a hello on a connection.
    ///
    /// # Errors
    /// The backend does not accept the presented certificate.
    ///
    /// # Panics
    /// The backend sends nothing.
    pub async fn greet(
        client: AgentServiceClient<Channel>,
        generation: u64,
    ) -> Result<Self, Status> {
        Self::greet_as(client, generation, PROTOCOL).await
    }

    /// Sends the hello of an agent with this protocol version on a connection.
    ///
    /// # Errors
    /// The backend does not accept the presented certificate or the hello.
    ///
    /// # Panics
    /// The backend sends nothing.
    pub async fn greet_as(
        mut client: AgentServiceClient<Channel>,
        generation: u64,
        version: ProtocolVersion,
    ) -> Result<Self, Status> {
        let (to_backend, outgoing) = mpsc::channel(4);
        let hello = link_request::Message::Hello(v1::Hello {
            protocol_major: version.major,
            protocol_minor: version.minor,
            ..hello(generation)
        });
        to_backend.try_send(v1::LinkRequest { message: Some(hello) }).unwrap();
        let from_backend = client.link(ReceiverStream::new(outgoing)).await?.into_inner();
        let mut linked = Self { to_backend, from_backend };
        // The backend's welcome and policy.
        for _ in 0..2 {
            let received = tokio::time::timeout(PATIENCE, linked.from_backend.message()).await;
            received.expect("the backend says something")?;
        }
        Ok(linked)
    }

    /// Waits until the backend ends the stream, and ignores all messages before.
    ///
    /// # Panics
    /// It does not.
    pub async fn ended(&mut self) {
        let ended = async { while let Ok(Some(_)) = self.from_backend.message().await {} };
        tokio::time::timeout(PATIENCE, ended).await.expect("the backend ends the stream");
    }
}

fn hello(generation: u64) -> v1::Hello {
    v1::Hello {
        agent_version: "0.0.0".to_owned(),
        facts: Some(v1::DeviceFacts {
            os: "linux".to_owned(),
            os_version: "6".to_owned(),
            hostname: "somewhere".to_owned(),
            home: "/root".to_owned(),
            workspace: String::new(),
            arch: "x86_64".to_owned(),
            sandbox: "none".to_owned(),
            ..v1::DeviceFacts::default()
        }),
        ceiling: b"{}".to_vec().into(),
        generation,
        ..v1::Hello::default()
    }
}
