//! The environment of a simulated agent. Each request to the outside waits here until the story lets it
//! happen.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use orion_agent::agent::environment::{Dialling, Environment};
use orion_agent::agent::event::Event;
use orion_agent::call::Outcome;
use orion_agent::connect::dial::Dialled;
use orion_agent::connect::{ConnectError, Link};
use orion_agent::execute::{Job, Work};
use orion_agent::journal::{CallStatus, Journal};
use orion_domain::{CallId, ToolError};
use orion_wire::v1;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tonic::transport::Endpoint;

use crate::chance::Chance;

/// The next message from a backend.
pub(crate) type FromBackend = Result<v1::LinkResponse, Status>;

/// The device's ends of an open connection.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) incoming: mpsc::Receiver<FromBackend>,
    /// Receives the channel of the device's messages.
    pub(crate) outgoing: oneshot::Sender<mpsc::Receiver<v1::LinkRequest>>,
}

/// A call that may start, or has started.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) call: CallId,
    pub(crate) cancelled: Arc<AtomicBool>,
    pub(crate) done: oneshot::Sender<Result<Outcome, ToolError>>,
    /// The result. `None` until the call's effect has happened or is ruled out.
    pub(crate) result: Option<Result<Outcome, ToolError>>,
}

/// The pending requests.
#[derive(Debug)]
pub(crate) struct Wants {
    /// Pending dials.
    pub(crate) dials: VecDeque<oneshot::Sender<Ends>>,
    pub(crate) running: Vec<Running>,
    chance: Chance,
}

/// The environment of a simulated agent.
#[derive(Debug, Clone)]
pub(crate) struct Simulated {
    wants: Arc<Mutex<Wants>>,
    /// The planted fault: the agent has no memory of earlier calls.
    forgets: bool,
}

impl Simulated {
    pub(crate) fn new(chance: Chance, forgets: bool) -> Self {
        let wants = Wants { dials: VecDeque::new(), running: Vec::new(), chance };
        Self { wants: Arc::new(Mutex::new(wants)), forgets }
    }

    pub(crate) fn wants(&self) -> MutexGuard<'_, Wants> {
        self.wants.lock().unwrap()
    }
}

impl Environment for Simulated {
    fn link(&self, dialling: Dialling) -> BoxFuture<'static, Result<Link, ConnectError>> {
        let (answer, made) = oneshot::channel::<Ends>();
        self.wants().dials.push_back(answer);
        let Dialling { address, tls: _, hello, device, state, chain: _ } = dialling;
        async move {
            let unreachable = |_| ConnectError::Unreachable {
                address: address.clone(),
                error: io::ErrorKind::ConnectionRefused.into(),
            };
            let Ends { incoming, outgoing } = made.await.map_err(unreachable)?;
            let hello = v1::Hello { generation: state.next_generation()?, ..hello };
            // No RPC is ever made on this channel.
            let channel = Endpoint::from_static("http://simulated").connect_lazy();
            let dialled = Dialled::given(channel, address.clone());
            Link::open_by(dialled, hello, device, |_, queue: ReceiverStream<v1::LinkRequest>| {
                drop(outgoing.send(queue.into_inner()));
                async { Ok(ReceiverStream::new(incoming).boxed()) }
            })
            .await
        }
        .boxed()
    }

    fn work(&self, job: Job, _progress: mpsc::Sender<Event>) -> io::Result<Work> {
        let (done, work) = oneshot::channel();
        let (call, cancelled) = (job.subject.call, job.cancelled);
        self.wants().running.push(Running { call, cancelled, done, result: None });
        Ok(work)
    }

    fn seen(&self, journal: &Journal, call: CallId) -> CallStatus {
        if self.forgets { CallStatus::New } else { journal.seen(call) }
    }

    fn random(&self) -> f64 {
        self.wants().chance.unit()
    }
}
