//! The loop's environment: the network, the threads that tools run in, the journal's memory of calls, and
//! randomness. Every agent uses the system's; a simulation provides its own.

use std::fmt;
use std::io;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use orion_domain::{CallId, DeviceId};
use orion_wire::v1;
use orion_wire::v1::agent_service_client::AgentServiceClient;
use rustls::ClientConfig;
use tokio::sync::mpsc;

use super::chain_recorder::to_head;
use super::event::Event;
use crate::chain::ChainWatch;
use crate::connect::dial::dial;
use crate::connect::renew::renew;
use crate::connect::{ConnectError, Link};
use crate::execute::{self, Job, Work};
use crate::journal::{CallStatus, Journal};
use crate::state::State;

/// The side effects of the agent's loop.
pub trait Environment: fmt::Debug + Send + Sync {
    /// Connects and exchanges `Hello` and `Welcome`.
    fn link(&self, dialling: Dialling) -> BoxFuture<'static, Result<Link, ConnectError>>;

    /// Starts an admitted call in a thread.
    ///
    /// # Errors
    /// No thread is available; then the call did not start.
    fn work(&self, job: Job, progress: mpsc::Sender<Event>) -> io::Result<Work>;

    /// Returns the journal's status of a call.
    fn seen(&self, journal: &Journal, call: CallId) -> CallStatus;

    /// Returns a uniformly distributed number between 0 and 1.
    fn random(&self) -> f64;
}

/// The parameters of a connection attempt.
#[derive(Debug)]
pub struct Dialling {
    /// `host:port`.
    pub address: String,
    /// The device's mTLS configuration.
    pub tls: Arc<ClientConfig>,
    /// The first message. The generation and the chain head are filled in once the dial succeeded.
    pub hello: v1::Hello,
    /// The device's id, which the `Welcome` must name.
    pub device: DeviceId,
    /// The state directory, which holds the connection counter.
    pub state: Arc<State>,
    /// The head of the device's own audit log. None where it keeps none.
    pub chain: Option<ChainWatch>,
}

/// A renewal on a connection of its own.
#[derive(Debug)]
pub(super) struct Renewing {
    /// `host:port`.
    pub(super) address: String,
    /// The mTLS configuration with the expired certificate.
    pub(super) tls: Arc<ClientConfig>,
    /// The request for the new certificate, PEM.
    pub(super) request: String,
    /// The state directory, which holds the connection counter.
    pub(super) state: Arc<State>,
}

impl Renewing {
    /// Requests the certificate.
    ///
    /// # Errors
    /// The backend cannot be reached, or gives none.
    pub(super) async fn ask(self) -> Result<v1::RenewCertificateResponse, ConnectError> {
        let Self { address, tls, request, state } = self;
        let dialled = dial(&address, tls).await?;
        let generation = generation(state).await?;
        let client = AgentServiceClient::new(dialled.channel.clone());
        renew(client, request, generation).await
    }
}

/// The real network, threads and randomness.
#[derive(Debug)]
pub(crate) struct SystemEnvironment;

impl Environment for SystemEnvironment {
    fn link(&self, dialling: Dialling) -> BoxFuture<'static, Result<Link, ConnectError>> {
        let Dialling { address, tls, hello, device, state, chain } = dialling;
        async move {
            let dialled = dial(&address, tls).await?;
            let generation = generation(state).await?;
            let chain = chain.map(|chain| to_head(chain.head()));
            Link::open(dialled, v1::Hello { generation, chain, ..hello }, device).await
        }
        .boxed()
    }

    fn work(&self, job: Job, progress: mpsc::Sender<Event>) -> io::Result<Work> {
        execute::begin(job, progress)
    }

    fn seen(&self, journal: &Journal, call: CallId) -> CallStatus {
        journal.seen(call)
    }

    fn random(&self) -> f64 {
        rand::random()
    }
}

/// Increments the connection counter before the connection is announced, off the loop because it waits
/// for the disk.
async fn generation(state: Arc<State>) -> Result<u64, ConnectError> {
    match tokio::task::spawn_blocking(move || state.next_generation()).await {
        Ok(generation) => Ok(generation?),
        Err(error) => Err(ConnectError::Ended(error.to_string())),
    }
}
