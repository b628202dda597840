//! `AgentService`: the stream to a device. Wire messages become domain values here, and the reverse.

mod chains;
mod connection;
mod converse;
mod from_device;
mod incoming;
mod link;
mod outgoing;
mod pace;
mod rate_limits;
mod renew_certificate;

use std::pin::Pin;
use std::sync::Arc;

use orion_wire::v1;
use orion_wire::v1::agent_service_server::AgentService;
use tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming};

pub(super) use self::connection::{Connection, good};
pub(super) use self::link::talk;
use self::rate_limits::DeviceRateLimits;
use super::RpcResult;
use crate::backend::Backend;

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
    rates: Arc<DeviceRateLimits>,
}

impl Agents {
    pub(super) fn new(backend: Arc<Backend>) -> Self {
        Self { backend, rates: Arc::default() }
    }
}

#[tonic::async_trait]
impl AgentService for Agents {
    type LinkStream = Outgoing;

    async fn link(
        &self,
        request: Request<Streaming<v1::LinkRequest>>,
    ) -> RpcResult<Self::LinkStream> {
        link::link(self, request).await.map(Response::new)
    }

    async fn renew_certificate(
        &self,
        request: Request<v1::RenewCertificateRequest>,
    ) -> RpcResult<v1::RenewCertificateResponse> {
        renew_certificate::renew_certificate(self, request).await.map(Response::new)
    }
}
