//! `AgentService`: the stream to a device. Wire messages become domain values here, and the reverse.

mod chains;
mod connection;
mod from_device;
mod incoming;
mod outgoing;
mod rate_limits;

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use orion_domain::DeviceId;
use orion_wire::v1::agent_service_server::AgentService;
use orion_wire::v1::{link_request, link_response};
use orion_wire::{PROTOCOL, v1};
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use self::chains::received;
pub(super) use self::connection::Connection;
use self::connection::{good, over, since};
use self::from_device::{from_device, is_known};
use self::incoming::{greeting, heads};
use self::outgoing::{audit_head, last_words, policy_update, renew_certificate, to_device};
use self::rate_limits::DeviceRateLimits;
use super::status;
use crate::backend::Backend;
use crate::fleet::effective_policy::attach;
use crate::fleet::presence::{accept, disconnected, recognise};
use crate::fleet::{DeviceLink, DeviceSnapshot, ToDevice, enrollment};
use crate::pipeline::reconcile;

/// Maximum time until a device sends its hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// Average time that a device waits before it reconnects, in milliseconds.
const RECONNECT_MS: u64 = 500;
/// Sent to a device that reports new ceilings too often.
const TOO_OFTEN: &str =
    "it reported its ceiling too often; the next report is accepted within five minutes";

/// Sent to a device whose chain report cannot be stored.
const NOT_RECORDED: &str = "what it says of its chain could not be recorded; it may try again";

type Outgoing = Pin<Box<dyn Stream<Item = Result<v1::LinkResponse, Status>> + Send>>;

/// The service behind the device streams.
#[derive(Debug)]
pub(super) struct Agents {
    backend: Arc<Backend>,
    pace: Arc<DeviceRateLimits>,
}

impl Agents {
    pub(super) fn new(backend: Arc<Backend>) -> Self {
        Self { backend, pace: Arc::default() }
    }
}

#[tonic::async_trait]
impl AgentService for Agents {
    type LinkStream = Outgoing;

    async fn link(
        &self,
        request: Request<Streaming<v1::LinkRequest>>,
    ) -> Result<Response<Outgoing>, Status> {
        let (identity, since) = (good(&self.backend, &request)?, since(&request));
        let id: DeviceId = identity
            .device_id
            .parse()
            .map_err(|_| Status::unauthenticated("The certificate names no device."))?;
        recognise(&self.backend.devices, id, &identity).await.map_err(status::connect_error)?;
        let connection = Connection {
            since,
            serial: identity.serial_hex.clone(),
            issuer: Some(identity.issuer),
            over: over(&self.backend, &identity),
        };
        let shared = (Arc::clone(&self.backend), Arc::clone(&self.pace));
        talk(shared, id, connection, request.into_inner()).await.map(Response::new)
    }

    async fn renew_certificate(
        &self,
        request: Request<v1::RenewCertificateRequest>,
    ) -> Result<Response<v1::RenewCertificateResponse>, Status> {
        let identity = good(&self.backend, &request)?;
        let v1::RenewCertificateRequest { certificate_request } = request.into_inner();
        let issued = enrollment::renew(&self.backend.enrollment, &identity, certificate_request)
            .await
            .map_err(status::enroll)?;
        Ok(Response::new(v1::RenewCertificateResponse {
            certificate: issued.cert_pem,
            not_after: issued.not_after_ms,
            authorities: self.backend.enrollment.authority.certificates(),
        }))
    }
}

/// Runs the stream of a device whose certificate was checked, until the certificate is no longer valid.
/// Returns the messages for the device.
///
/// # Errors
/// The first message is not a valid hello, or the backend rejects the device.
pub(super) async fn talk(
    (backend, pace): (Arc<Backend>, Arc<DeviceRateLimits>),
    id: DeviceId,
    connection: Connection,
    mut incoming: impl Stream<Item = Result<v1::LinkRequest, Status>> + Send + Unpin + 'static,
) -> Result<Outgoing, Status> {
    let first = tokio::time::timeout(HELLO_TIMEOUT, incoming.next()).await;
    let Ok(Some(Ok(v1::LinkRequest { message: Some(link_request::Message::Hello(hello)) }))) =
        first
    else {
        return Err(Status::failed_precondition(
            "The first message of a device is its hello, within ten seconds.",
        ));
    };
    // The task runs to completion even if the device hangs up: what it stores must also reach the caches.
    let (shared, hung_up) = (Arc::clone(&backend), CancellationToken::new());
    let _hung_up = hung_up.clone().drop_guard();
    let begun = begin((backend, pace), id, connection, hello, incoming, hung_up);
    let begun = shared.tasks.background.spawn(begun).await;
    begun.unwrap_or_else(|_| Err(Status::unavailable(NOT_RECORDED)))
}

/// Accepts a device after its hello, and starts the task that runs its link.
async fn begin(
    (backend, pace): (Arc<Backend>, Arc<DeviceRateLimits>),
    id: DeviceId,
    connection: Connection,
    hello: v1::Hello,
    incoming: impl Stream<Item = Result<v1::LinkRequest, Status>> + Send + Unpin + 'static,
    hung_up: CancellationToken,
) -> Result<Outgoing, Status> {
    let (chain, saw) = heads(&hello)?;
    let (greeting, unfinished) = greeting(hello)?;
    let workspace = greeting.facts.places.workspace.as_ref().map(ToString::to_string);
    let reported = (&greeting.ceiling, workspace.as_deref().unwrap_or_default());
    if !is_known(&backend, id, reported) && !pace.may_report(id, Instant::now()) {
        return Err(Status::resource_exhausted(TOO_OFTEN));
    }
    let Connection { since, serial, issuer, over } = connection;
    let changes = backend.enrollment.authority.changes();
    let is_behind = issuer
        .is_some_and(|issuer| backend.enrollment.authority.is_behind(issuer, &greeting.trusts));
    let generation = greeting.generation;
    let known = accept(&backend.devices, id, since, serial, greeting)
        .await
        .map_err(status::connect_error)?;
    if !received(&backend, (id, since), chain, saw).await {
        return Err(Status::unavailable(NOT_RECORDED));
    }
    tracing::info!(device = %known.name, unfinished, "connected");

    let in_flight = backend.config.calls.in_flight_per_device;
    let (link, orders) =
        DeviceLink::new(generation, in_flight, backend.tasks.closing.child_token());
    let (sender, outgoing) = mpsc::channel(16);
    // The welcome and the policy are queued first; only then can calls be sent.
    let greetings = [
        link_response::Message::Welcome(v1::Welcome {
            protocol_major: PROTOCOL.major,
            protocol_minor: PROTOCOL.minor,
            server_version: env!("CARGO_PKG_VERSION").to_owned(),
            device_name: known.name.to_string(),
            device_id: id.to_string(),
            reconnect_ms: RECONNECT_MS,
            audit: audit_head(&backend),
        }),
        policy_update(known.policy.version.clone(), &known.policy_bytes),
    ];
    let renewal = is_behind.then(|| renew_certificate(&backend));
    for message in greetings.into_iter().chain(renewal) {
        let message = v1::LinkResponse { message: Some(message) };
        sender.try_send(Ok(message)).map_err(|_| Status::internal("The stream has no room."))?;
    }

    // The link is attached before the device receives its welcome, on which the device closes its older
    // connection. From here to the task that detaches the link nothing fails and nothing is cancelled.
    attach(&backend.devices, &known, &link, &hung_up).await;
    let shared = Arc::clone(&backend);
    shared.tasks.background.spawn(async move {
        reconcile::begin(&backend.pipeline, id, &link);
        let mut conversing = Box::pin(converse(
            (&backend, &pace, since),
            &known,
            &link,
            (orders, changes),
            incoming,
            &sender,
        ));
        let reason = tokio::select! {
            reason = &mut conversing => reason,
            reason = over => {
                // The message that is being handled is still processed.
                link.end();
                conversing.await;
                reason
            }
        };
        link.end();
        if backend.fleet.detach(id, link.id()) {
            disconnected(&backend.devices, id).await;
        }
        tracing::info!(device = %known.name, %reason, "disconnected");
    });
    Ok(Box::pin(ReceiverStream::new(outgoing)))
}

/// Every event of a device's connection.
enum Event {
    FromDevice(Box<link_request::Message>),
    ToDevice(ToDevice),
    OtherAuthorities,
    Ended(&'static str),
}

async fn converse(
    shared: (&Arc<Backend>, &DeviceRateLimits, Instant),
    known: &DeviceSnapshot,
    link: &DeviceLink,
    (mut orders, mut changes): (mpsc::Receiver<ToDevice>, watch::Receiver<()>),
    mut incoming: impl Stream<Item = Result<v1::LinkRequest, Status>> + Unpin,
    outgoing: &mpsc::Sender<Result<v1::LinkResponse, Status>>,
) -> &'static str {
    loop {
        let event = tokio::select! {
            () = link.ended() => Event::Ended("ended by the backend"),
            order = orders.recv() => match order {
                Some(order) => Event::ToDevice(order),
                None => Event::Ended("ended by the backend"),
            },
            Ok(()) = changes.changed() => Event::OtherAuthorities,
            message = incoming.next() => match message {
                Some(Ok(v1::LinkRequest { message: Some(message) })) => Event::FromDevice(Box::new(message)),
                Some(Ok(v1::LinkRequest { message: None })) => Event::Ended("a message without content"),
                Some(Err(_)) => Event::Ended("the link was lost"),
                None => Event::Ended("the device hung up"),
            },
        };
        let message = match event {
            Event::Ended(reason) => {
                last_words(shared.0, None, &mut orders, outgoing);
                return reason;
            }
            Event::ToDevice(order) if link.has_ended() => {
                last_words(shared.0, Some(order), &mut orders, outgoing);
                return "ended by the backend";
            }
            Event::ToDevice(order) => to_device(shared.0, order),
            Event::OtherAuthorities => renew_certificate(shared.0),
            Event::FromDevice(message) => {
                // The future is boxed so that a silent device does not hold its memory.
                match Box::pin(from_device(shared, (known, link), *message)).await {
                    Ok(()) => continue,
                    Err(reason) => return reason,
                }
            }
        };
        let message = v1::LinkResponse { message: Some(message) };
        // A device that does not read its stream blocks only its own.
        tokio::select! {
            sent = outgoing.send(Ok(message)) => if sent.is_err() { return "the link was lost" },
            () = link.ended() => return "ended by the backend",
        }
    }
}
