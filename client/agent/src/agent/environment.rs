//! What surrounds the loop: the network that it dials on, the threads that tools run in, what is
//! remembered, and chance. There is one in every agent that runs; a simulation brings its own.

use std::fmt;
use std::io;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use orion_domain::{CallId, DeviceId};
use orion_wire::v1;
use rustls::ClientConfig;
use tokio::sync::mpsc;

use super::chain_recorder::to_head;
use super::event::Event;
use crate::chain::ChainWatch;
use crate::connect::dial::dial;
use crate::connect::{ConnectError, Link};
use crate::execute::{self, Job, Work};
use crate::journal::{CallStatus, Journal};
use crate::state::State;

/// See the module.
pub trait Environment: fmt::Debug + Send + Sync {
    /// Makes a connection and exchanges greetings on it.
    fn link(&self, dialling: Dialling) -> BoxFuture<'static, Result<Link, ConnectError>>;

    /// Gives a call that may start what it runs in.
    ///
    /// # Errors
    /// There is nothing for it to run in; then it did not start.
    fn work(&self, job: Job, progress: mpsc::Sender<Event>) -> io::Result<Work>;

    /// What is known of a call.
    fn seen(&self, journal: &Journal, call: CallId) -> CallStatus;

    /// A number drawn evenly from 0 to 1.
    fn random(&self) -> f64;
}

/// A connection that is to be made.
#[derive(Debug)]
pub struct Dialling {
    /// `host:port`.
    pub address: String,
    /// How the device shows who it is.
    pub tls: Arc<ClientConfig>,
    /// What it says first; the generation and the chain's head are filled in when the connection stands.
    pub hello: v1::Hello,
    /// Which device it is.
    pub device: DeviceId,
    /// Where connections are counted.
    pub state: Arc<State>,
    /// Where the device's own audit ends, where it keeps one.
    pub chain: Option<ChainWatch>,
}

/// The world as it is.
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

/// Counts the connection before it is announced, off the loop because it waits for the disk.
async fn generation(state: Arc<State>) -> Result<u64, ConnectError> {
    match tokio::task::spawn_blocking(move || state.next_generation()).await {
        Ok(generation) => Ok(generation?),
        Err(error) => Err(ConnectError::Ended(error.to_string())),
    }
}
