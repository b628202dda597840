//! `Link`: a device connects. Everything from its hello to the task that runs its link.

use std::sync::Arc;
use std::time::{Duration, Instant};

use orion_domain::DeviceId;
use orion_wire::v1::{link_request, link_response};
use orion_wire::{PROTOCOL, v1};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Status, Streaming};

use super::chains::received;
use super::connection::{good, over, since};
use super::converse::converse;
use super::from_device::is_known;
use super::incoming::{greeting, heads, owner_pause};
use super::outgoing::{audit_head, policy_update, renew_certificate};
use super::rate_limits::DeviceRateLimits;
use super::{Agents, Connection, NOT_RECORDED, Outgoing, RECONNECT_MS, TOO_OFTEN};
use crate::backend::Backend;
use crate::fleet::DeviceLink;
use crate::fleet::effective_policy::attach;
use crate::fleet::presence::{accept, disconnected, recognise};
use crate::pipeline::reconcile;
use crate::rpc::status;

/// Maximum time until a device sends its hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects a device: it sends its hello, receives its welcome and its policy, and then calls. The stream ends
/// when either side ends it, or when the device's certificate is no longer valid.
pub(super) async fn link(
    api: &Agents,
    request: Request<Streaming<v1::LinkRequest>>,
) -> Result<Outgoing, Status> {
    let Agents { backend, rates } = api;
    let (identity, since) = (good(backend, &request)?, since(&request));
    let id: DeviceId = identity
        .device_id
        .parse()
        .map_err(|_| Status::unauthenticated("The certificate names no device."))?;
    recognise(&backend.devices, id, &identity).await.map_err(status::connect_error)?;
    let connection = Connection {
        since,
        serial: identity.serial_hex.clone(),
        issuer: Some(identity.issuer),
        over: over(backend, &identity),
    };
    let shared = (Arc::clone(backend), Arc::clone(rates));
    talk(shared, id, connection, request.into_inner()).await
}

/// Runs the stream of a device whose certificate was checked, until the certificate is no longer valid.
/// Returns the messages for the device.
///
/// # Errors
/// The first message is not a valid hello, or the backend rejects the device.
pub(in crate::rpc) async fn talk(
    (backend, rates): (Arc<Backend>, Arc<DeviceRateLimits>),
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
    let begun = begin((backend, rates), id, connection, hello, incoming, hung_up);
    let begun = shared.tasks.background.spawn(begun).await;
    begun.unwrap_or_else(|_| Err(Status::unavailable(NOT_RECORDED)))
}

/// Accepts a device after its hello, and starts the task that runs its link.
async fn begin(
    (backend, rates): (Arc<Backend>, Arc<DeviceRateLimits>),
    id: DeviceId,
    connection: Connection,
    hello: v1::Hello,
    incoming: impl Stream<Item = Result<v1::LinkRequest, Status>> + Send + Unpin + 'static,
    hung_up: CancellationToken,
) -> Result<Outgoing, Status> {
    let (chain, saw) = heads(&hello)?;
    let pause = hello.pause.clone().map(owner_pause);
    let (greeting, unfinished) = greeting(hello)?;
    let workspace = greeting.facts.places.workspace.as_ref().map(ToString::to_string);
    let projects = greeting.facts.places.projects.written().into_iter().collect();
    let reported = (&greeting.ceiling, workspace.as_deref().unwrap_or_default(), &projects);
    if !is_known(&backend, id, reported) && !rates.may_report(id, Instant::now()) {
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
    link.set_pause(pause);
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
            (&backend, &rates, since),
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
