//! A backend that does not play by the rules: real certificates of its own authority, the real
//! protocol, and whatever a test wants to say in it. What refuses is then the device alone.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use orion_catalog::find;
use orion_domain::id::InviteId;
use orion_domain::{
    ApprovalId, CallBinding, CallId, CanonicalArguments, DeviceId, Digest, Envelope, Risk, Secret,
};
use orion_mtls::{CertificateAuthority, ServerCertificate, device_listener};
use orion_server::listen::accept;
use orion_wire::v1::agent_service_server::{AgentService, AgentServiceServer};
use orion_wire::v1::enrollment_service_server::{EnrollmentService, EnrollmentServiceServer};
use orion_wire::v1::{link_request, link_response};
use orion_wire::{DeviceFacts, DevicePolicy, EnrollmentToken, PROTOCOL, call_state_from, v1};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};
use uuid::Uuid;

mod deceived;

pub use deceived::Deceived;

use crate::eventually::PATIENCE;
use crate::now_ms;

type Outgoing = Pin<Box<dyn Stream<Item = Result<v1::LinkResponse, Status>> + Send>>;

/// See the module.
#[derive(Debug)]
pub struct LyingServer {
    /// Where it listens for devices.
    pub address: SocketAddr,
    /// What it signs with.
    pub authority: Arc<CertificateAuthority>,
    /// The id of every device that enrols here.
    pub device: DeviceId,
    links: Mutex<mpsc::Receiver<Link>>,
    asked: Arc<std::sync::atomic::AtomicU32>,
    stop: CancellationToken,
}

/// A device that connected and is told whatever the test says.
#[derive(Debug)]
pub struct Link {
    /// What it said of itself.
    pub hello: v1::Hello,
    /// The device's id.
    pub device: DeviceId,
    policy_version: String,
    to_device: mpsc::Sender<Result<v1::LinkResponse, Status>>,
    from_device: Streaming<v1::LinkRequest>,
}

#[derive(Clone)]
struct Services {
    authority: Arc<CertificateAuthority>,
    device: DeviceId,
    links: mpsc::Sender<Link>,
    asked: Arc<std::sync::atomic::AtomicU32>,
}

impl LyingServer {
    /// Starts one.
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
        let serving = Server::builder()
            .add_service(AgentServiceServer::new(services.clone()))
            .add_service(EnrollmentServiceServer::new(services))
            .serve_with_incoming_shutdown(
                accept(listener, Some(tls), stop.clone()),
                stop.clone().cancelled_owned(),
            );
        tokio::spawn(serving);
        Self { address, authority, device, links: Mutex::new(connected), asked, stop }
    }

    /// How often anybody asked to be enrolled.
    #[must_use]
    pub fn enrolments(&self) -> u32 {
        self.asked.load(std::sync::atomic::Ordering::SeqCst)
    }

    /// A token that names this server and pins it.
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

    /// The next device that connects, greeted but without a policy.
    ///
    /// # Panics
    /// None connects.
    pub async fn link(&self) -> Link {
        let mut links = self.links.lock().await;
        let mut link =
            tokio::time::timeout(PATIENCE, links.recv()).await.expect("a device connects").unwrap();
        link.send(link_response::Message::Welcome(v1::Welcome {
            protocol_major: PROTOCOL.major,
            protocol_minor: PROTOCOL.minor,
            server_version: "0.0.0".to_owned(),
            device_name: "kiosk".to_owned(),
            device_id: link.device.to_string(),
            reconnect_ms: 50,
        }))
        .await;
        link
    }
}

impl Drop for LyingServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Link {
    /// Says anything.
    ///
    /// # Panics
    /// The device has gone.
    pub async fn send(&mut self, message: link_response::Message) {
        let message = v1::LinkResponse { message: Some(message) };
        self.to_device.send(Ok(message)).await.expect("the device listens");
    }

    /// The next thing that the device says; none once it has gone.
    ///
    /// # Panics
    /// It neither says anything nor goes.
    pub async fn hear(&mut self) -> Option<link_request::Message> {
        let heard = tokio::time::timeout(PATIENCE, self.from_device.message()).await;
        heard.expect("the device says something").ok().flatten().and_then(|heard| heard.message)
    }

    /// Lends these grants, and gives the device's word on it.
    pub async fn lend(&mut self, grants: Value) -> v1::PolicyAck {
        let grants = serde_json::from_value(grants).unwrap();
        let bytes = DevicePolicy { grants, ..DevicePolicy::default() }.to_bytes();
        self.policy(bytes).await
    }

    /// Sends a policy as it stands, and gives the device's word on it.
    ///
    /// # Panics
    /// The device says something else, or nothing.
    pub async fn policy(&mut self, policy: Vec<u8>) -> v1::PolicyAck {
        self.policy_version = DevicePolicy::version_of(&policy);
        let version = self.policy_version.clone();
        self.send(link_response::Message::PolicyUpdate(v1::PolicyUpdate {
            version,
            policy: policy.into(),
        }))
        .await;
        loop {
            match self.hear().await {
                Some(link_request::Message::PolicyAck(ack)) => return ack,
                // Answers that were not acknowledged before the link was lost.
                Some(link_request::Message::CallResult(_)) => {}
                other => panic!("instead of an acknowledgement: {other:?}"),
            }
        }
    }

    /// A call that is as it should be in everything that the backend decides, on behalf of ann.
    ///
    /// # Panics
    /// There is no such tool, or its arguments do not fit.
    #[must_use]
    pub fn order(&self, tool: &str, arguments: &Value) -> v1::Dispatch {
        let (spec, _) = find(tool).unwrap();
        let facts = DeviceFacts::try_from(self.hello.facts.clone().unwrap()).unwrap();
        let object = arguments.as_object().unwrap().clone();
        let parsed = spec.parse(object, &facts.places).unwrap();
        v1::Dispatch {
            call_id: Uuid::now_v7().to_string(),
            tool: tool.to_owned(),
            arguments: parsed.arguments.as_bytes().to_vec().into(),
            dry_run: false,
            time_left_ms: 30_000,
            risk: orion_wire::risk(spec.risk).into(),
            policy_version: self.policy_version.clone(),
            user: "ann".to_owned(),
            role: "operator".to_owned(),
            conversation_id: String::new(),
            approval: None,
            traceparent: String::new(),
            device_id: self.device.to_string(),
        }
    }

    /// A person's yes to exactly this call, as an honest backend would send it.
    ///
    /// # Panics
    /// The call is not one.
    #[must_use]
    pub fn approval_of(&self, order: &v1::Dispatch) -> v1::ApprovalProof {
        let facts = DeviceFacts::try_from(self.hello.facts.clone().unwrap()).unwrap();
        let (spec, _) = find(&order.tool).unwrap();
        let value: Value = serde_json::from_slice(&order.arguments).unwrap();
        let parsed = spec.parse(value.as_object().unwrap().clone(), &facts.places).unwrap();
        let caller = orion_domain::Caller {
            user: order.user.parse().unwrap(),
            role: order.role.parse().unwrap(),
            conversation: None,
        };
        let binding = CallBinding {
            call: order.call_id.parse::<CallId>().unwrap(),
            device: order.device_id.parse().unwrap(),
            tool: &order.tool,
            arguments: &CanonicalArguments::from_value(&value),
            caller: &caller,
            touches: &parsed.touches,
            policy_version: &order.policy_version,
        };
        v1::ApprovalProof {
            approval_id: ApprovalId::new(Uuid::now_v7()).to_string(),
            binding: binding.digest().as_bytes().to_vec().into(),
            approved_by: "ann".to_owned(),
        }
    }

    /// Sends a call and gives the device's answer to it: the word for its state, and the code.
    pub async fn dispatch(&mut self, order: v1::Dispatch) -> (String, String) {
        let call_id = order.call_id.clone();
        self.send(link_response::Message::Dispatch(order)).await;
        let (state, code, _) = self.answer_to(&call_id).await;
        (state, code)
    }

    /// Waits for the answer to a call: the word for its state, its code and its envelope.
    ///
    /// # Panics
    /// It does not come.
    pub async fn answer_to(&mut self, call_id: &str) -> (String, String, Option<Envelope>) {
        loop {
            match self.hear().await {
                Some(link_request::Message::CallResult(result)) if result.call_id == call_id => {
                    let state = call_state_from(result.state).unwrap().to_string();
                    let envelope = serde_json::from_slice(&result.result).ok();
                    return (state, result.code, envelope);
                }
                Some(_) => {}
                None => panic!("the device left instead of answering {call_id}"),
            }
        }
    }

    /// The risk that the wire says.
    #[must_use]
    pub fn risk(risk: Risk) -> i32 {
        orion_wire::risk(risk).into()
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
        let link = Link {
            hello,
            device: self.device,
            policy_version: String::new(),
            to_device,
            from_device,
        };
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
            fingerprint_words: json!("any words").to_string(),
        }))
    }

    async fn get_enrollment(
        &self,
        _: Request<v1::GetEnrollmentRequest>,
    ) -> Result<Response<v1::GetEnrollmentResponse>, Status> {
        Err(Status::not_found("nobody is pending"))
    }
}
