//! The loop in which everything happens. One task owns all state and takes one [`Event`] at a time;
//! whatever takes long happens in tasks of their own that post events back.
//!
//! [`calls`] is what becomes of a call, [`session`] what becomes of the connection, [`ceiling`] what
//! the device's owner says meanwhile, [`there`] what a policy names that is not as it is named.

mod calls;
pub mod ceiling;
pub mod chain_recorder;
#[doc(hidden)]
pub mod environment;
pub mod event;
mod policy_inspection;
mod session;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use orion_domain::CallId;
use orion_wire::v1::link_response::Message as Incoming;
use orion_wire::v1::{self, link_request};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::chain::Chain;
use crate::clock::{now_ms, until};
use crate::config::Settings;
use crate::connect::ConnectError;
use crate::connect::backoff::{Backoff, STABLE};
use crate::connect::renew::{RequestedRenewal, is_due};
use crate::execute::Toolbox;
use crate::guard::Guard;
use crate::journal::Journal;
use crate::roots::GrantedPaths;
use crate::state::{Identity, State, Status};
use ceiling::{CeilingReport, Opening, granted_paths};
use chain_recorder::ChainSubject;
use environment::{Environment, SystemEnvironment};
use event::Event;
use session::Phase;

/// Events that may wait. More than can happen at once, so that calls seldom wait for the loop.
const EVENT_QUEUE: usize = 128;
/// How long what is to be sent may wait for a backend that does not read.
const STALL: Duration = Duration::from_secs(30);
/// How often the trash is looked through.
const SWEEP_EVERY: Duration = Duration::from_hours(6);
/// The longest sleep, for the wall clock may be set meanwhile.
const MAX_SLEEP: Duration = Duration::from_mins(10);
/// How long calls that run may take to end when the agent stops.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// An agent that runs.
#[derive(Debug)]
pub struct Agent {
    environment: Arc<dyn Environment>,
    settings: Settings,
    state: Arc<State>,
    identity: Identity,
    guard: Guard,
    roots: Arc<GrantedPaths>,
    opening: Opening,
    /// What the backend was told that its policy names and is not there as it is named.
    found: Vec<v1::PolicyFinding>,
    toolbox: Arc<Toolbox>,
    journal: Journal,
    /// The device's own audit; none in a simulation.
    chain: Option<Chain>,
    told: CeilingReport,
    running: HashMap<CallId, Running>,
    /// Calls that were told as over at their deadline and whose threads still run.
    given_up: HashMap<CallId, Running>,
    tasks: JoinSet<()>,
    events: mpsc::Sender<Event>,
    inbox: mpsc::Receiver<Event>,
    phase: Phase,
    /// A connection that is to take over from the one that stands.
    successor: Option<AbortOnDropHandle<()>>,
    outbox: VecDeque<Outgoing>,
    backoff: Backoff,
    /// Which of the addresses is dialled next.
    address: usize,
    /// How many connections there were in this process.
    links: u64,
    renewal: Renewal,
    /// A renewal that the backend asked for.
    hastened: RequestedRenewal,
    next_sweep: Instant,
    stopping: bool,
    status: Status,
}

/// A call that occupies a thread.
#[derive(Debug)]
struct Running {
    cancelled: Arc<AtomicBool>,
    /// Set where its end is to be noted: it may change something.
    about: Option<ChainSubject>,
    /// What its arguments take in memory.
    argument_bytes: usize,
}

/// Something to send. A result is looked up when there is room for it, so that it is held once.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "few wait at once; boxes would cost each call")]
enum Outgoing {
    Message(link_request::Message),
    Result(CallId),
}

/// Where the renewal of the certificate stands.
#[derive(Debug)]
enum Renewal {
    /// To be asked for at its time, and not before this one.
    Waiting(Instant),
    /// Asked for.
    Asked(
        #[expect(dead_code, reason = "held so that it ends with the agent")] AbortOnDropHandle<()>,
    ),
}

impl Agent {
    /// An agent that has everything it needs and is not connected yet.
    #[must_use]
    pub fn new(
        settings: Settings,
        state: Arc<State>,
        identity: Identity,
        toolbox: Arc<Toolbox>,
        journal: Journal,
    ) -> Self {
        Self::within(Arc::new(SystemEnvironment), settings, state, identity, toolbox, journal)
    }

    /// The same in environment that a simulation made.
    #[doc(hidden)]
    #[must_use]
    pub fn within(
        environment: Arc<dyn Environment>,
        settings: Settings,
        state: Arc<State>,
        identity: Identity,
        toolbox: Arc<Toolbox>,
        journal: Journal,
    ) -> Self {
        let guard = Guard::new(
            identity.device_id,
            identity.name.clone(),
            settings.places.clone(),
            settings.scope.clone(),
        )
        .remembering(Arc::clone(&toolbox.trash));
        let roots = granted_paths(&settings, &guard);
        let (events, inbox) = mpsc::channel(EVENT_QUEUE);
        let now = Instant::now();
        Self {
            environment,
            settings,
            state,
            identity,
            guard,
            roots,
            opening: Opening::default(),
            found: Vec::new(),
            toolbox,
            journal,
            chain: None,
            told: CeilingReport::default(),
            running: HashMap::new(),
            given_up: HashMap::new(),
            tasks: JoinSet::new(),
            events,
            inbox,
            phase: Phase::Waiting(now),
            successor: None,
            outbox: VecDeque::new(),
            backoff: Backoff::default(),
            address: 0,
            links: 0,
            renewal: Renewal::Waiting(now),
            hastened: RequestedRenewal::default(),
            next_sweep: now,
            stopping: false,
            status: Status::default(),
        }
    }

    /// Runs until `shutdown`, then ends what runs and closes the journal.
    pub async fn run(mut self, shutdown: CancellationToken) {
        let _watching = self.watch_the_owner();
        loop {
            let event = self.next(&shutdown).await;
            if matches!(event, Event::Shutdown) {
                break;
            }
            self.handle(event).await;
            self.flush();
        }
        self.stop().await;
    }

    async fn next(&mut self, shutdown: &CancellationToken) -> Event {
        let due = self.next_due();
        let linked = self.phase.linked().filter(|_| !self.outbox.is_empty());
        let room = linked.map(|linked| (linked.number, linked.out.clone()));
        let writable = async {
            match room {
                Some((link, out)) => out.reserve_owned().await.map_or_else(
                    |_| Event::Lost { link, why: ConnectError::Ended("it broke".to_owned()) },
                    Event::Writable,
                ),
                None => std::future::pending().await,
            }
        };
        let noting = self.chain.as_ref().filter(|chain| chain.is_busy()).map(Chain::watch);
        let noted = async {
            match noting {
                Some(watch) => watch.changed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => Event::Shutdown,
            Some(event) = self.inbox.recv() => event,
            () = noted => Event::Noted,
            event = writable => event,
            () = sleep_until(due) => Event::Due,
        }
    }

    /// The next moment at which something is to be done unasked.
    fn next_due(&self) -> Instant {
        let mut due = self.next_sweep.min(Instant::now() + MAX_SLEEP);
        match &self.phase {
            Phase::Waiting(until) => due = due.min(*until),
            Phase::Connecting(_) => {}
            Phase::Linked(linked) => {
                if !linked.proven {
                    due = due.min(linked.since + STABLE);
                }
                if let Some(since) = linked.stalled_since {
                    due = due.min(since + STALL);
                }
                due = linked.succeed_at.map_or(due, |at| due.min(at));
                if let Renewal::Waiting(not_before) = self.renewal {
                    due = due.min(not_before.max(self.renewal_due()));
                    due = self.hastened.due().map_or(due, |asked| due.min(asked));
                }
            }
        }
        due
    }

    fn renewal_due(&self) -> Instant {
        let (now, Identity { renew_at, not_after, .. }) = (now_ms(), &self.identity);
        let wait =
            if is_due(now, *renew_at, *not_after) { Duration::ZERO } else { until(*renew_at, now) };
        Instant::now() + wait.min(MAX_SLEEP)
    }

    async fn handle(&mut self, event: Event) {
        match event {
            Event::Connected(Ok(link)) => self.connected(*link),
            Event::Connected(Err(why)) => self.not_connected(&why),
            Event::Received { link, message } => {
                // What an older connection still had to say is sent again on this one.
                if self.phase.linked().is_some_and(|linked| linked.number == link) {
                    self.received(message).await;
                }
            }
            Event::Lost { link, why } => {
                if self.phase.linked().is_some_and(|linked| linked.number == link) {
                    self.lost(&why);
                }
            }
            Event::Writable(permit) => {
                if let Some(message) = self.next_message() {
                    permit.send(v1::LinkRequest { message: Some(message) });
                    self.not_stalled();
                }
            }
            Event::Started { call } => {
                let call_id = call.to_string();
                self.send(link_request::Message::CallStarted(v1::CallStarted { call_id }));
            }
            Event::Progress { call, done, total, note } => {
                // Progress is of no use late, so it is left out where anything waits.
                let is_idle = self
                    .phase
                    .linked()
                    .is_some_and(|linked| linked.out.capacity() == linked.out.max_capacity());
                if is_idle && self.outbox.is_empty() {
                    let call_id = call.to_string();
                    let progress = v1::CallProgress { call_id, done, total, note };
                    self.send(link_request::Message::CallProgress(progress));
                }
            }
            Event::Finished { call, ended, slot } => self.finished(call, ended, slot).await,
            Event::Renewed(result) => self.renewed(result),
            Event::Owner(word) => self.owner(word),
            Event::Opened { found } => self.opened(found),
            Event::Due => self.due(),
            Event::Noted => self.noted(),
            // The loop has ended before this comes here.
            Event::Shutdown => {}
        }
    }

    async fn received(&mut self, message: Incoming) {
        match message {
            Incoming::PolicyUpdate(update) => self.policy(&update),
            Incoming::Dispatch(dispatch) => self.dispatch(dispatch).await,
            Incoming::CancelCall(v1::CancelCall { call_id }) => {
                let running = call_id
                    .parse()
                    .ok()
                    .and_then(|call| self.running.get(&call).or_else(|| self.given_up.get(&call)));
                if let Some(running) = running {
                    running.cancelled.store(true, Ordering::Relaxed);
                }
            }
            Incoming::CallQuery(v1::CallQuery { call_ids }) => self.asked(call_ids),
            Incoming::ResultAck(ack) => self.acknowledged(ack).await,
            Incoming::Drain(v1::Drain { reconnect_ms }) => self.drain(reconnect_ms),
            Incoming::CeilingAck(v1::CeilingAck { number }) => self.ceiling_acknowledged(number),
            Incoming::RenewCertificate(v1::RenewCertificate { within_ms }) => {
                self.renew_soon(Duration::from_millis(within_ms));
            }
            // A second greeting says nothing that counts.
            Incoming::Welcome(_) => {}
        }
    }

    /// Takes a policy, or says why not. The answer names the version either way.
    fn policy(&mut self, update: &v1::PolicyUpdate) {
        let v1::PolicyUpdate { version, policy } = update;
        let error = match self.guard.update(version, policy) {
            Ok(()) => {
                // What is found there follows, once it was looked for.
                self.found.clear();
                self.reopen();
                tracing::info!(%version, "the policy is active");
                self.status.policy_version = Some(version.clone());
                self.write_status();
                String::new()
            }
            Err(error) => {
                tracing::warn!(%error, "a policy was not taken; the one before it holds");
                error.to_string()
            }
        };
        let version = version.chars().take(64).collect();
        let ack = v1::PolicyAck { version, error, findings: Vec::new() };
        self.send(link_request::Message::PolicyAck(ack));
    }

    fn due(&mut self) {
        let now = Instant::now();
        if now >= self.next_sweep {
            self.next_sweep = now + SWEEP_EVERY;
            self.sweep();
        }
        self.session_due(now);
    }

    fn sweep(&mut self) {
        let (toolbox, roots) = (Arc::clone(&self.toolbox), Arc::clone(&self.roots));
        self.tasks.spawn_blocking(move || {
            if let Err(error) = toolbox.trash.sweep(&roots, jiff::Timestamp::now()) {
                tracing::warn!(%error, "the trash could not be looked through");
            }
        });
    }

    /// Stops what runs, notes how it ended, and tells the backend as far as it still listens.
    async fn stop(mut self) {
        self.stopping = true;
        for running in self.running.values().chain(self.given_up.values()) {
            running.cancelled.store(true, Ordering::Relaxed);
        }
        let until = Instant::now() + STOP_WITHIN;
        while !(self.running.is_empty() && self.given_up.is_empty())
            && let Ok(Some(event)) = timeout_at(until, self.inbox.recv()).await
        {
            self.handle(event).await;
            self.flush();
        }
        self.status.connected_to = None;
        self.status.last_error = Some("the agent was stopped".to_owned());
        self.write_status();
        self.note_what_waits(until).await;
        self.hang_up().await;
        self.journal.close().await;
    }
}
