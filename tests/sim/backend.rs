//! A running backend, and its database, which outlives it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use orion_domain::{CallId, CallRequest, Caller, DeviceId, Role};
use orion_server::backend::Backend as Real;
use orion_server::pipeline::call::CallContext;
use orion_server::pipeline::cancel;
use orion_server::rpc;
use orion_server::serve::{Ready, close, work};
use orion_wire::v1;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use crate::call::{Call, Reports};
use crate::environment::FromBackend;
use crate::ground::start;
use crate::host::Host;

/// The longest wait for SQLite's threads in one step, in naps.
const PATIENCE: usize = 200_000;
/// The length of one nap.
const NAP: Duration = Duration::from_micros(50);
/// The number of first naps that only yield to the scheduler.
const SHORT: usize = 200;

/// A backend of a story.
#[derive(Debug)]
pub(crate) struct Backend {
    host: Host,
    /// Its files and listeners. `None` while it is stopped.
    ready: Option<Ready>,
    /// Set once a stop was requested.
    stopping: Option<Arc<Stopping>>,
}

/// The progress of a requested stop.
#[derive(Debug, Default)]
struct Stopping {
    closes: AtomicBool,
    is_over: AtomicBool,
}

impl Backend {
    /// Starts on this folder, as its program does.
    pub(crate) fn start(data: &Path) -> Self {
        let host = Host::new();
        let ready = start(&host, data);
        host.run(async { work(&ready.backend) });
        let started = Self { host, ready: Some(ready), stopping: None };
        started.settle();
        started
    }

    /// Requests a stop, as its program does.
    pub(crate) fn stop(&mut self) {
        let (backend, stopping) = (Arc::clone(self.real()), Arc::new(Stopping::default()));
        self.stopping = Some(Arc::clone(&stopping));
        self.host.spawn(async move {
            backend.tasks.shutdown.cancel();
            close(Arc::clone(&backend)).await;
            stopping.closes.store(true, Ordering::Relaxed);
            backend.store.close().await;
            stopping.is_over.store(true, Ordering::Relaxed);
        });
    }

    /// Returns whether it runs and no stop was requested.
    pub(crate) const fn is_serving(&self) -> bool {
        self.stopping.is_none()
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.stopping.as_ref().is_some_and(|stopping| stopping.is_over.load(Ordering::Relaxed))
    }

    /// Returns whether its database is closing, which takes a thread of SQLite.
    fn closes(&self) -> bool {
        let closes = |stopping: &Arc<Stopping>| stopping.closes.load(Ordering::Relaxed);
        self.stopping.as_ref().is_some_and(closes) && !self.has_stopped()
    }

    fn real(&self) -> &Arc<Real> {
        &self.ready.as_ref().expect("it is there until it is dropped").backend
    }

    /// Lets the backend do what it can, and waits for the threads of its database.
    pub(crate) fn settle(&self) {
        let store = &self.real().store;
        for nap in 0..PATIENCE {
            self.host.turn();
            if store.is_at_rest() && !self.closes() {
                // Also handles what a thread has just sent.
                self.host.turn();
                if store.is_at_rest() && !self.closes() {
                    return;
                }
            }
            if nap < SHORT { std::thread::yield_now() } else { std::thread::sleep(NAP) }
        }
        panic!("the record does not come to rest");
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.host.advance(by);
        self.settle();
    }

    /// Accepts a device's connection; returns the backend's messages on it.
    pub(crate) fn connect(
        &self,
        device: DeviceId,
        incoming: mpsc::Receiver<Result<v1::LinkRequest, Status>>,
    ) -> mpsc::UnboundedReceiver<FromBackend> {
        let (sender, outgoing) = mpsc::unbounded_channel();
        let backend = Arc::clone(self.real());
        self.host.spawn(async move {
            let refused = match rpc::link(&backend, device, ReceiverStream::new(incoming)).await {
                Err(status) => Err(status),
                Ok(mut said) => loop {
                    match said.next().await {
                        Some(message) => {
                            if sender.send(message).is_err() {
                                return;
                            }
                        }
                        None => return,
                    }
                },
            };
            drop(sender.send(refused));
        });
        outgoing
    }

    /// Makes a call; `number` identifies it in the answers.
    pub(crate) fn call(&self, number: usize, call: &Call, id: CallId, answers: &Reports) {
        if call.is_read {
            let request = CallRequest {
                tool: "get_datetime".to_owned(),
                device: Some(format!("d{}", call.device)),
                timeout_ms: Some(call.timeout_ms),
                ..CallRequest::default()
            };
            return self.run(number, id, request, answers);
        }
        let line = format!("{number}\n");
        let arguments = json!({"path": "log", "content": line, "append": true});
        let request = CallRequest {
            tool: "write_file".to_owned(),
            device: Some(format!("d{}", call.device)),
            arguments: arguments.as_object().unwrap().clone(),
            timeout_ms: Some(call.timeout_ms),
            idempotency_key: Some(call.key.clone()),
            queue: Some(call.queue_ms.is_some()),
            queue_ms: call.queue_ms,
            ..CallRequest::default()
        };
        self.run(number, id, request, answers);
    }

    fn run(&self, number: usize, id: CallId, request: CallRequest, answers: &Reports) {
        let incoming = CallContext { id, ..CallContext::new(ann(), request) };
        let (backend, answers) = (Arc::clone(self.real()), Arc::clone(answers));
        self.host.spawn(async move {
            let reply = backend.pipeline.run(incoming).await;
            answers.lock().unwrap().push((number, reply.ok().map(|reply| reply.state)));
        });
    }

    /// Cancels a call.
    pub(crate) fn cancel(&self, id: CallId) {
        let backend = Arc::clone(self.real());
        self.host.spawn(async move {
            // A call that was never recorded cannot be cancelled.
            if let Ok(row) = backend.store.call(id).await {
                drop(cancel::cancel(&backend.pipeline, &ann(), row).await);
            }
        });
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        drop(self.ready.take());
    }
}

fn ann() -> Caller {
    Caller { user: "ann".parse().unwrap(), role: Role::Admin, conversation: None }
}
