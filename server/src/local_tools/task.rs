//! The task behind the backend's own link. It owns the calls that run here, and takes one message at a time:
//! those that a device would receive.

use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use orion_catalog::find;
use orion_domain::{CallId, DeviceId, ErrorCode, ToolError};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Context, Effect, Executor, effect, report};
use crate::bus::Change;
use crate::clock::now_ms;
use crate::fleet::{DeviceLink, DeviceResult, Dispatch, ToDevice};
use crate::pipeline::{Pipeline, reconcile, result};
use crate::store::StoreError;

/// How many results are kept until they are stored. The oldest is dropped for another.
const MAX_KEPT_RESULTS: usize = 64;

/// The calls that run here, and their results until they are stored.
#[derive(Debug)]
struct LocalCalls {
    pipeline: Arc<Pipeline>,
    tasks: JoinSet<DeviceResult>,
    running: HashMap<CallId, CancellationToken>,
    kept: VecDeque<DeviceResult>,
    /// Calls that may have an effect in the database until their end is stored.
    changing: HashSet<CallId>,
}

/// Attaches the backend's own link, and starts the task behind it.
pub fn start(pipeline: &Arc<Pipeline>) {
    let mut calls = LocalCalls {
        pipeline: Arc::clone(pipeline),
        tasks: JoinSet::new(),
        running: HashMap::new(),
        kept: VecDeque::new(),
        changing: HashSet::new(),
    };
    // Attached before anybody can make a call.
    let (mut link, mut orders) = connect(pipeline, 1);
    pipeline.tasks.background.spawn(async move {
        let closing = calls.pipeline.tasks.closing.clone();
        for generation in 2.. {
            calls.acknowledge_policy().await;
            calls.serve(&link, &mut orders).await;
            if closing.is_cancelled() {
                return;
            }
            // The queue was full when the policy changed. The calls run on.
            (link, orders) = connect(&calls.pipeline, generation);
        }
    });
}

/// Makes a new link the backend's own.
fn connect(pipeline: &Arc<Pipeline>, generation: u64) -> (DeviceLink, mpsc::Receiver<ToDevice>) {
    let slots = pipeline.config.calls.in_flight_per_device;
    let ended = pipeline.tasks.closing.child_token();
    let (link, orders) = DeviceLink::new(generation, slots, ended);
    pipeline.fleet.attach(DeviceId::BACKEND, link.clone());
    pipeline.bus.publish(Change::Device(DeviceId::BACKEND));
    reconcile::begin(pipeline, DeviceId::BACKEND, &link);
    (link, orders)
}

impl LocalCalls {
    /// Takes messages and the ends of calls until the link ends.
    async fn serve(&mut self, link: &DeviceLink, orders: &mut mpsc::Receiver<ToDevice>) {
        loop {
            tokio::select! {
                () = link.ended() => return,
                order = orders.recv() => match order {
                    Some(order) => self.take(link, order).await,
                    None => return,
                },
                Some(ended) = self.tasks.join_next() => {
                    // A task catches the panic of its tool.
                    if let Ok(ended) = ended {
                        self.ended(link, ended).await;
                    }
                }
            }
        }
    }

    async fn take(&mut self, link: &DeviceLink, order: ToDevice) {
        match order {
            ToDevice::Dispatch(order, left) => self.run(order, left),
            ToDevice::Cancel(call) => {
                if let Some(stop) = self.running.get(&call) {
                    stop.cancel();
                }
            }
            ToDevice::Query(calls) => {
                for call in calls {
                    self.query(link, call).await;
                }
            }
            ToDevice::Ack(call, _) => self.acknowledged(call).await,
            ToDevice::Policy { .. } => self.acknowledge_policy().await,
            // There is no ceiling here and no custom tool, and the link ends with the process.
            ToDevice::CeilingAck(_) | ToDevice::ToolsRefused(_) | ToDevice::Drain { .. } => {}
        }
    }

    /// Starts a call. A call is started once. A call that changes the database is not interrupted: its result must say
    /// whether it did.
    fn run(&mut self, order: Arc<Dispatch>, left: Duration) {
        let call = order.call;
        if self.running.contains_key(&call) || self.kept.iter().any(|kept| kept.call == call) {
            return;
        }
        let has_effects = find(order.tool).is_some_and(|(spec, _)| spec.has_effects);
        let effect = Executor::find(order.tool).map_or(Effect::Database, |it| it.effect);
        let outside = match effect {
            Effect::Outside { unknown, hint } if has_effects && !order.dry_run => {
                Some((unknown, hint))
            }
            Effect::Outside { .. } | Effect::Database => None,
        };
        let changes = has_effects && !order.dry_run && outside.is_none();
        if changes {
            self.changing.insert(call);
        }
        let stop = CancellationToken::new();
        self.running.insert(call, stop.clone());
        let shutdown = self.pipeline.tasks.shutdown.clone();
        let devices = self.pipeline.devices.clone();
        let (caller, dry_run) = (order.caller.clone(), order.dry_run);
        let (pipeline, config) = (Arc::clone(&self.pipeline), Arc::clone(&self.pipeline.config));
        let context = Context { call, caller, dry_run, devices, pipeline, config };
        self.tasks.spawn(async move {
            let began = Instant::now();
            let ended = tokio::select! {
                // A change is one transaction. Once it began, it ends as it ends.
                biased;
                ended = execute(&order, context) => ended,
                () = stop.cancelled(), if !changes => Err(cancelled(outside)),
                () = tokio::time::sleep(left), if !changes => Err(timed_out(&order, outside)),
                () = shutdown.cancelled(), if !changes => Err(stopped(outside)),
            };
            report::result(&order, ended, began.elapsed())
        });
    }

    /// Keeps a result until it is stored, and reports it.
    async fn ended(&mut self, link: &DeviceLink, ended: DeviceResult) {
        self.running.remove(&ended.call);
        if self.kept.len() == MAX_KEPT_RESULTS {
            self.kept.pop_front();
        }
        self.kept.push_back(ended.clone());
        self.report(link, ended).await;
    }

    /// Reports a result to the task that waits for it, or stores it.
    async fn report(&self, link: &DeviceLink, ended: DeviceResult) {
        link.asked().resolve(ended.call);
        if let Err(ended) = self.pipeline.fleet.waiting().deliver(DeviceId::BACKEND, ended)
            && let Err(error) = result::late(&self.pipeline, DeviceId::BACKEND, ended).await
        {
            // The backend asks about the call again.
            tracing::error!(%error, "the end of a call on the backend could not be recorded");
        }
    }

    /// Answers what became of a call.
    async fn query(&mut self, link: &DeviceLink, call: CallId) {
        if let Some(kept) = self.kept.iter().find(|kept| kept.call == call) {
            return self.report(link, kept.clone()).await;
        }
        // A call that a task waits for was lost with an earlier link. An earlier process had any other.
        if self.running.contains_key(&call)
            || self.pipeline.fleet.waiting().not_seen(DeviceId::BACKEND, link.id(), call)
        {
            link.asked().resolve(call);
            return;
        }
        match self.of_earlier_process(call).await {
            Ok(ended) => {
                self.changing.insert(call);
                self.report(link, ended).await;
            }
            // The backend asks about the call again.
            Err(error) => tracing::error!(%error, %call, "the effect of a call could not be read"),
        }
    }

    /// Returns the end of a call that an earlier process had: what it changed is in the database, or nothing is.
    async fn of_earlier_process(&self, call: CallId) -> Result<DeviceResult, StoreError> {
        let store = &self.pipeline.store;
        let row = store.call(call).await?;
        let ended = effect::earlier(store, call).await?.ok_or_else(|| {
            let effect = Executor::find(&row.tool).map(|executor| executor.effect);
            if let (Some(Effect::Outside { unknown, hint }), false) = (effect, row.dry_run) {
                return stopped(Some((unknown, hint)));
            }
            let message = "The backend stopped while this call ran. The call has changed nothing.";
            ToolError::new(ErrorCode::Internal, message).hint("make the call again")
        });
        Ok(report::end((call, &row.tool, row.dry_run), None, ended, Duration::ZERO))
    }

    /// Forgets a call whose end is stored.
    async fn acknowledged(&mut self, call: CallId) {
        self.kept.retain(|kept| kept.call != call);
        if !self.changing.remove(&call) {
            return;
        }
        if let Err(error) = self.pipeline.store.forget_local_effect(call).await {
            // The next start of the backend forgets it.
            tracing::warn!(%error, %call, "the effect of a call could not be deleted");
        }
    }

    /// Records that the active policy holds here, as a device acknowledges its policy.
    async fn acknowledge_policy(&self) {
        let Some(known) = self.pipeline.fleet.known(DeviceId::BACKEND) else { return };
        let (store, version) = (&self.pipeline.store, &known.policy.version);
        match store.acknowledge_policy(DeviceId::BACKEND, version, &[], now_ms()).await {
            Ok(()) => self.pipeline.bus.publish(Change::Device(DeviceId::BACKEND)),
            Err(error) => {
                tracing::warn!(%error, "the backend's own acknowledgement could not be recorded");
            }
        }
    }
}

async fn execute(
    order: &Dispatch,
    context: Context,
) -> Result<super::Outcome<serde_json::Value>, ToolError> {
    let Some(executor) = Executor::find(order.tool) else {
        let message = format!("{} does not run on the backend.", order.tool);
        return Err(ToolError::new(ErrorCode::NotSupported, message));
    };
    let run = (executor.run)(order.arguments.as_bytes().to_vec(), context);
    AssertUnwindSafe(run).catch_unwind().await.unwrap_or_else(|_| {
        let message = format!("{} failed inside the backend.", order.tool);
        Err(ToolError::new(ErrorCode::Internal, message))
    })
}

/// What is unknown of a call that is broken off, and what its person can do. None if it has no effect.
type Unknown = Option<(&'static str, &'static str)>;

fn cancelled(outside: Unknown) -> ToolError {
    with_unknown(ErrorCode::Cancelled, "This call was cancelled while it ran.", outside)
}

fn timed_out(order: &Dispatch, outside: Unknown) -> ToolError {
    let message = format!("{} did not end within the call's timeout.", order.tool);
    with_unknown(ErrorCode::Timeout, &message, outside)
}

/// Returns the error of a call that the stop of the backend broke off.
fn stopped(outside: Unknown) -> ToolError {
    let code = if outside.is_some() { ErrorCode::OutcomeUnknown } else { ErrorCode::Cancelled };
    with_unknown(code, "The backend stopped while this call ran.", outside)
}

fn with_unknown(code: ErrorCode, message: &str, outside: Unknown) -> ToolError {
    match outside {
        Some((unknown, hint)) => ToolError::new(code, format!("{message} {unknown}")).hint(hint),
        None => ToolError::new(code, message),
    }
}
