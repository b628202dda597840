//! A device that answers at once: a real certificate, a real mTLS stream, no tools. Both the
//! backend and its bare counterpart are measured with these.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Context as _;
use orion_agent::connect::dial::dial;
use orion_domain::{Envelope, Meta};
use orion_mtls::{DeviceKey, PinSet};
use orion_wire::v1::agent_service_client::AgentServiceClient;
use orion_wire::v1::enrollment_service_client::EnrollmentServiceClient;
use orion_wire::v1::{link_request, link_response};
use orion_wire::{DevicePolicy, EnrollmentToken, PROTOCOL, v1};
use rustls::ClientConfig;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

/// Enrols with a pre-approved token and gives the TLS configuration of the new identity.
pub(crate) async fn enroll(
    token: &EnrollmentToken,
    name: &str,
) -> anyhow::Result<Arc<ClientConfig>> {
    let address = token.addresses.first().context("the token names no address")?;
    let pins: PinSet = token.pins.first().context("no pin")?.to_string().parse()?;
    let key = DeviceKey::generate()?;
    let channel = dial(address, orion_mtls::pinned(pins)?).await?.channel;
    let response = EnrollmentServiceClient::new(channel)
        .enroll(v1::EnrollRequest {
            invite_id: token.invite_id.to_string(),
            secret: token.secret.expose().to_owned(),
            certificate_request: key.csr()?,
            suggested_name: name.to_owned(),
            hostname: name.to_owned(),
            os: "linux".to_owned(),
            ticket: String::new(),
            arch: "x86_64".to_owned(),
        })
        .await?
        .into_inner();
    let issued = response.certificate.context("the token was not pre-approved")?;
    let authorities: Vec<&str> = issued.authorities.iter().map(String::as_str).collect();
    Ok(orion_mtls::mutual(&authorities, &issued.certificate, &key)?)
}

/// When the newest call came to any of these devices.
static DISPATCHED: Mutex<Option<Instant>> = Mutex::new(None);

/// Returns when the newest call came.
pub(crate) fn dispatched() -> Option<Instant> {
    *DISPATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A stream that stands; resolves when it has ended.
pub(crate) type Linked = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// Connects, says hello, and answers every dispatch until the stream ends, in a task of its own. Gives
/// the stream once the policy is acknowledged; the bare server sends none, and its welcome is enough.
pub(crate) async fn run(
    address: &str,
    tls: Arc<ClientConfig>,
    expects_policy: bool,
) -> anyhow::Result<()> {
    tokio::spawn(link(address, tls, expects_policy, 1).await?);
    Ok(())
}

/// The same, with the number of this connection, as something to be driven.
pub(crate) async fn link(
    address: &str,
    tls: Arc<ClientConfig>,
    expects_policy: bool,
    generation: u64,
) -> anyhow::Result<Linked> {
    let channel = dial(address, tls).await?.channel;
    let (sender, outgoing) = mpsc::channel(64);
    let hello = v1::Hello {
        protocol_major: PROTOCOL.major,
        protocol_minor: PROTOCOL.minor,
        agent_version: "bench".to_owned(),
        facts: Some(v1::DeviceFacts {
            os: "linux".to_owned(),
            hostname: "bench".to_owned(),
            home: "/home/ann".to_owned(),
            workspace: "/home/ann".to_owned(),
            ..v1::DeviceFacts::default()
        }),
        ceiling: json!({"profile": "reader", "paths": ["/home/ann"]}).to_string().into(),
        generation,
        ..v1::Hello::default()
    };
    send(&sender, link_request::Message::Hello(hello)).await?;
    let mut incoming =
        AgentServiceClient::new(channel).link(ReceiverStream::new(outgoing)).await?.into_inner();
    loop {
        let heard = incoming.message().await?.and_then(|heard| heard.message);
        match heard.context("the stream ended before it began")? {
            link_response::Message::Welcome(_) if !expects_policy => break,
            link_response::Message::PolicyUpdate(update) => {
                acknowledge(&sender, &update).await?;
                break;
            }
            link_response::Message::Welcome(_)
            | link_response::Message::Dispatch(_)
            | link_response::Message::CancelCall(_)
            | link_response::Message::CallQuery(_)
            | link_response::Message::ResultAck(_)
            | link_response::Message::CeilingAck(_)
            | link_response::Message::RenewCertificate(_)
            | link_response::Message::CustomToolsRefused(_)
            | link_response::Message::Drain(_) => {}
        }
    }
    Ok(Box::pin(async move {
        while let Ok(Some(v1::LinkResponse { message: Some(message) })) = incoming.message().await {
            let answered = match message {
                link_response::Message::PolicyUpdate(update) => acknowledge(&sender, &update).await,
                link_response::Message::Dispatch(dispatch) => {
                    *DISPATCHED.lock().unwrap_or_else(PoisonError::into_inner) =
                        Some(Instant::now());
                    send(&sender, link_request::Message::CallResult(answer(dispatch))).await
                }
                link_response::Message::Welcome(_)
                | link_response::Message::CancelCall(_)
                | link_response::Message::CallQuery(_)
                | link_response::Message::ResultAck(_)
                | link_response::Message::CeilingAck(_)
                | link_response::Message::RenewCertificate(_)
                | link_response::Message::CustomToolsRefused(_)
                | link_response::Message::Drain(_) => Ok(()),
            };
            if answered.is_err() {
                return;
            }
        }
    }))
}

async fn acknowledge(
    sender: &mpsc::Sender<v1::LinkRequest>,
    update: &v1::PolicyUpdate,
) -> anyhow::Result<()> {
    let version = DevicePolicy::version_of(&update.policy);
    let ack = v1::PolicyAck { version, ..v1::PolicyAck::default() };
    send(sender, link_request::Message::PolicyAck(ack)).await
}

async fn send(
    sender: &mpsc::Sender<v1::LinkRequest>,
    message: link_request::Message,
) -> anyhow::Result<()> {
    sender.send(v1::LinkRequest { message: Some(message) }).await.context("the stream has ended")
}

fn answer(dispatch: v1::Dispatch) -> v1::CallResult {
    let meta = Meta { call_id: dispatch.call_id.clone(), tool: dispatch.tool, ..Meta::default() };
    let data = json!({"datetime": "2026-01-01T00:00:00Z", "date": "2026-01-01", "time": "00:00:00", "unix": 1, "timezone": "UTC"});
    let envelope = Envelope::success("It is midnight.", data, false, meta);
    v1::CallResult {
        call_id: dispatch.call_id,
        state: v1::CallState::Succeeded.into(),
        code: String::new(),
        result: serde_json::to_vec(&envelope).unwrap_or_default().into(),
        duration_us: 1,
        ..v1::CallResult::default()
    }
}
