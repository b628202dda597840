//! A misbehaving backend: real certificates of its own authority, the real protocol, and any messages
//! that a test sends. So every rejection is the device's own.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use orion_domain::id::InviteId;
use orion_domain::{DeviceId, Digest, Secret};
use orion_mtls::{CertificateAuthority, ServerCertificate, device_listener};
use orion_wire::v1::agent_service_server::{AgentService, AgentServiceServer};
use orion_wire::v1::content_service_server::ContentServiceServer;
use orion_wire::v1::enrollment_service_server::{EnrollmentService, EnrollmentServiceServer};
use orion_wire::v1::link_request;
use orion_wire::{EnrollmentToken, v1};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::{Request, Response, Status, Streaming};
use uuid::Uuid;

mod content;
mod deceived;
mod link;
mod many;

pub use deceived::Deceived;
pub use link::Link;

use crate::door::door;
use crate::eventually::PATIENCE;
use crate::now_ms;

type Outgoing = Pin<Box<dyn Stream<Item = Result<v1::LinkResponse, Status>> + Send>>;

/// A misbehaving backend.
#[derive(Debug)]
pub struct LyingServer {
    /// The address of its device listener.
    pub address: SocketAddr,
    /// The authority that signs its certificates.
    pub authority: Arc<CertificateAuthority>,
    /// The id of every device that enrols here.
    pub device: DeviceId,
    links: Mutex<mpsc::Receiver<Link>>,
    asked: Arc<std::sync::atomic::AtomicU32>,
    stop: CancellationToken,
}

#[derive(Clone)]
struct Services {
    authority: Arc<CertificateAuthority>,
    device: DeviceId,
    links: mpsc::Sender<Link>,
    asked: Arc<std::sync::atomic::AtomicU32>,
}

impl LyingServer {
    /// Starts the backend.
    ///
    /// # Panics
    /// It cannot listen.
    pub async fn start() -> Self {
        orion_mtls::install_crypto_provider();
        let authority = Arc::new(CertificateAuthority::create(now_ms()).unwrap());
        let issued = authority.issue_server(&[], Duration::from_hours(1), now_ms()).unwrap();
        let certificate = Arc::new(ServerCertificate::new(&issued).unwrap());
        let tls = device_listener(&[authority.cert_pem()], certificate, Arc::new(|_: &str| false))
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (links, connected) = mpsc::channel(8);
        let (device, stop) = (DeviceId::new(Uuid::now_v7()), CancellationToken::new());
        let asked = Arc::default();
        let services = Services {
            authority: Arc::clone(&authority),
            device,
            links,
            asked: Arc::clone(&asked),
        };
        let routes = Routes::new(AgentServiceServer::new(services.clone()))
            .add_service(ContentServiceServer::new(content::Contents::default()))
            .add_service(EnrollmentServiceServer::new(services));
        tokio::spawn(door(listener, Some(tls)).serve(routes, stop.clone()));
        Self { address, authority, device, links: Mutex::new(connected), asked, stop }
    }

    /// Returns the number of enrolment requests.
    #[must_use]
    pub fn enrolments(&self) -> u32 {
        self.asked.load(std::sync::atomic::Ordering::SeqCst)
    }

    /// Returns a token that names this server and pins it.
    ///
    /// # Panics
    /// It cannot be written.
    #[must_use]
    pub fn token(&self) -> EnrollmentToken {
        let pin = Digest::from_slice(self.authority.fingerprint().0.as_slice()).unwrap();
        EnrollmentToken {
            addresses: vec![self.address.to_string()],
            pins: vec![pin],
            invite_id: InviteId::new(Uuid::now_v7()),
            secret: Secret::new("any-secret-will-do-here"),
            expires_at: now_ms() + 3_600_000,
        }
    }

    /// Returns the next device that connects, accepted but without a policy.
    ///
    /// # Panics
    /// None connects.
    pub async fn link(&self) -> Link {
        let mut links = self.links.lock().await;
        let link = tokio::time::timeout(PATIENCE, links.recv()).await;
        let mut link = link.expect("a device connects").unwrap();
        link.welcome().await;
        link
    }
}

impl Drop for LyingServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[tonic::async_trait]
impl AgentService for Services {
    type LinkStream = Outgoing;

    async fn link(
        &self,
        request: Request<Streaming<v1::LinkRequest>>,
    ) -> Result<Response<Outgoing>, Status> {
        let mut from_device = request.into_inner();
        let Some(v1::LinkRequest { message: Some(link_request::Message::Hello(hello)) }) =
            from_device.message().await?
        else {
            return Err(Status::failed_precondition("no hello"));
        };
        let (to_device, outgoing) = mpsc::channel(16);
        let link = Link::new(hello, self.device, to_device, from_device);
        self.links.send(link).await.map_err(|_| Status::unavailable("nobody asks"))?;
        Ok(Response::new(Box::pin(ReceiverStream::new(outgoing))))
    }

    async fn renew_certificate(
        &self,
        _: Request<v1::RenewCertificateRequest>,
    ) -> Result<Response<v1::RenewCertificateResponse>, Status> {
        Err(Status::unavailable("not now"))
    }
}

#[tonic::async_trait]
impl EnrollmentService for Services {
    async fn enroll(
        &self,
        request: Request<v1::EnrollRequest>,
    ) -> Result<Response<v1::EnrollResponse>, Status> {
        self.asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let issued = self
            .authority
            .issue_device(
                request.into_inner().certificate_request.as_bytes(),
                &self.device.to_string(),
                Duration::from_hours(1),
                now_ms(),
            )
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        Ok(Response::new(v1::EnrollResponse {
            device_id: self.device.to_string(),
            device_name: "kiosk".to_owned(),
            certificate: Some(v1::IssuedCertificate {
                certificate: issued.cert_pem,
                not_after: issued.not_after_ms,
                authorities: vec![self.authority.cert_pem().to_owned()],
            }),
            ticket: String::new(),
            fingerprint_words: "any words will do".to_owned(),
        }))
    }

    async fn get_enrollment(
        &self,
        _: Request<v1::GetEnrollmentRequest>,
    ) -> Result<Response<v1::GetEnrollmentResponse>, Status> {
        Err(Status::not_found("nobody is pending"))
    }

    async fn request_enrollment(
        &self,
        _: Request<v1::RequestEnrollmentRequest>,
    ) -> Result<Response<v1::RequestEnrollmentResponse>, Status> {
        Err(Status::unimplemented("no codes here"))
    }

    async fn await_confirmation(
        &self,
        _: Request<v1::AwaitConfirmationRequest>,
    ) -> Result<Response<v1::AwaitConfirmationResponse>, Status> {
        Err(Status::unimplemented("no codes here"))
    }
}
