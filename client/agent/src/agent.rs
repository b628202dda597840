//! The agent's event loop. One task owns all state and handles one [`Event`] at a time; slow work runs
//! in tasks of its own that post events back.
//!
//! [`calls`] handles a call, [`session`] the connection, [`ceiling`] changes of the owner's file, and
//! [`policy_inspection`] finds policy entries that do not match this device.

mod call_events;
mod calls;
pub mod ceiling;
pub mod chain_recorder;
pub mod consent;
mod custom_tools;
#[doc(hidden)]
pub mod environment;
pub mod event;
mod job;
mod notices;
mod owner_pause;
mod policy_inspection;
mod policy_update;
mod receive;
mod renewal;
mod running;
mod session;
mod slots;
mod watched;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use orion_domain::CallId;
use orion_usage::GivenOptions;
use orion_wire::v1::link_response::Message as Incoming;
use orion_wire::v1::{self, link_request};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::activity::Activity;
use crate::chain::Chain;
use crate::changes::sweep;
use crate::clock::{now_ms, until};
use crate::config::Settings;
use crate::connect::ConnectError;
use crate::connect::backoff::{Backoff, STABLE};
use crate::connect::renew::{RequestedRenewal, is_due};
use crate::execute::Toolbox;
use crate::guard::Guard;
use crate::journal::Journal;
use crate::pause::Paused;
use crate::roots::GrantedPaths;
use crate::state::{Identity, State, Status};
use ceiling::{CeilingReport, Opening, granted_paths};
use consent::{Asked, AskedTimes};
use custom_tools::AnnouncedTools;
use environment::{Environment, SystemEnvironment};
use event::Event;
use notices::Notices;
use running::Running;
use session::Phase;

/// Capacity of the event queue: more than can happen at once, so that calls seldom wait for the loop.
const EVENT_QUEUE: usize = 128;
/// How long outgoing messages may wait for a backend that does not read.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// How often the trash is swept.
const SWEEP_INTERVAL: Duration = Duration::from_hours(6);
/// The longest sleep: the wall clock may be set while the loop sleeps.
const MAX_SLEEP: Duration = Duration::from_mins(10);
/// How long running calls may take to end when the agent stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// A device agent.
#[derive(Debug)]
pub struct Agent {
    environment: Arc<dyn Environment>,
    settings: Settings,
    state: Arc<State>,
    identity: Identity,
    guard: Guard,
    roots: Arc<GrantedPaths>,
    opening: Opening,
    /// The policy findings that were reported last.
    found: Vec<v1::PolicyFinding>,
    toolbox: Arc<Toolbox>,
    journal: Journal,
    /// The device's own audit log. None in a simulation.
    chain: Option<Chain>,
    /// The options that commands need in texts for the owner.
    options: GivenOptions,
    /// The owner's pause, as it was last applied.
    pause: Option<Paused>,
    told: CeilingReport,
    announced: AnnouncedTools,
    running: HashMap<CallId, Running>,
    /// Calls that were reported as ended at their deadline and whose threads still run.
    given_up: HashMap<CallId, Running>,
    /// Calls that wait for the person at the device.
    asked: HashMap<CallId, Asked>,
    asked_times: AskedTimes,
    activity: Activity,
    notices: Notices,
    tasks: JoinSet<()>,
    events: mpsc::Sender<Event>,
    inbox: mpsc::Receiver<Event>,
    phase: Phase,
    /// A connection attempt that is to replace the current connection.
    successor: Option<AbortOnDropHandle<()>>,
    outbox: VecDeque<Outgoing>,
    backoff: Backoff,
    /// Index of the address to dial next, modulo their number.
    address: usize,
    /// Number of connections that this process made.
    links: u64,
    renewal: Renewal,
    /// Whether the backend said that the certificate has expired. This device's clock may be wrong.
    has_expired: bool,
    /// A renewal that the backend requested.
    requested_renewal: RequestedRenewal,
    next_sweep: Instant,
    stopping: bool,
    status: Status,
}

/// A queued message. A result is looked up in the journal when there is room, so it is held once.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "few wait at once; boxes would cost each call")]
enum Outgoing {
    Message(link_request::Message),
    Result(CallId),
}

/// The state of the certificate's renewal.
#[derive(Debug)]
enum Renewal {
    /// No request is under way. The next one is sent when it is due, and not before this moment.
    Waiting(Instant),
    /// A request is under way.
    Asked(
        #[expect(dead_code, reason = "held so that it ends with the agent")] AbortOnDropHandle<()>,
    ),
}

impl Agent {
    /// Creates an agent that is not connected yet.
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

    /// Creates an agent in the environment of a simulation.
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
            options: GivenOptions::none(),
            pause: None,
            told: CeilingReport::default(),
            announced: AnnouncedTools::default(),
            running: HashMap::new(),
            given_up: HashMap::new(),
            asked: HashMap::new(),
            asked_times: AskedTimes::default(),
            activity: Activity::default(),
            notices: Notices::default(),
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
            has_expired: false,
            requested_renewal: RequestedRenewal::default(),
            next_sweep: now,
            stopping: false,
            status: Status::default(),
        }
    }

    /// Runs until `shutdown`, then stops the running calls and closes the journal.
    pub async fn run(mut self, shutdown: CancellationToken) {
        self.pause = self.paused();
        let _pausing = self.watch_the_pause();
        let _watched = self.watch_the_watchers();
        let _notices = self.begin_notices();
        self.forget_questions();
        let _watching = self.watch_the_owner();
        let _reading = self.watch_the_tools();
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

    /// Returns the next moment at which the loop has something to do by itself.
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
                    due = due.min(since + STALL_TIMEOUT);
                }
                due = linked.succeed_at.map_or(due, |at| due.min(at));
                if let Renewal::Waiting(not_before) = self.renewal {
                    due = due.min(not_before.max(self.renewal_due()));
                    due = self.requested_renewal.due().map_or(due, |asked| due.min(asked));
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
                // The backend sends messages of an earlier connection again on this one.
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
            Event::Call(event) => self.call_event(event).await,
            Event::Renewed(result) => self.renewed(result),
            Event::RenewedExpired(result) => self.renewed_expired(result),
            Event::Owner(ceiling) => self.owner(ceiling),
            Event::Pause => self.pause_changed(),
            Event::Consent(event) => self.consent_event(event).await,
            Event::Watched => self.write_activity(),
            Event::Opened { found } => self.opened(found),
            Event::Manifests(manifests) => self.manifests(manifests),
            Event::ServerTools(tools) => self.server_tools(tools),
            Event::Due => self.due(),
            Event::Noted => self.noted(),
            // The loop ends before it handles this event.
            Event::Shutdown => {}
        }
    }

    async fn received(&mut self, message: Incoming) {
        match message {
            Incoming::PolicyUpdate(update) => self.policy(&update),
            Incoming::Dispatch(dispatch) => self.dispatch(dispatch).await,
            Incoming::CancelCall(v1::CancelCall { call_id }) => {
                if let Ok(call) = call_id.parse() {
                    self.cancel(call);
                }
            }
            Incoming::CallQuery(v1::CallQuery { call_ids }) => self.asked(call_ids),
            Incoming::ResultAck(ack) => self.acknowledged(ack).await,
            Incoming::Drain(v1::Drain { reconnect_ms }) => self.drain(reconnect_ms),
            Incoming::CeilingAck(v1::CeilingAck { number }) => self.ceiling_acknowledged(number),
            Incoming::RenewCertificate(v1::RenewCertificate { within_ms }) => {
                self.renew_soon(Duration::from_millis(within_ms));
            }
            Incoming::CustomToolsRefused(v1::CustomToolsRefused { tools }) => {
                self.tools_refused(tools)
            }
            // A second `Welcome` is ignored.
            Incoming::Welcome(_) => {}
        }
    }

    fn due(&mut self) {
        let now = Instant::now();
        if now >= self.next_sweep {
            self.next_sweep = now + SWEEP_INTERVAL;
            self.sweep();
        }
        self.session_due(now);
    }

    fn sweep(&mut self) {
        let (toolbox, roots) = (Arc::clone(&self.toolbox), Arc::clone(&self.roots));
        self.tasks.spawn_blocking(move || {
            if let Err(error) = sweep(&toolbox.trash, &roots, jiff::Timestamp::now()) {
                tracing::warn!(%error, "the trash could not be looked through");
            }
        });
    }

    /// Cancels running calls, records how they ended, and reports that while the connection lasts.
    async fn stop(mut self) {
        self.stopping = true;
        self.cancel_calls();
        self.forget_asked();
        let until = Instant::now() + STOP_TIMEOUT;
        while !(self.running.is_empty() && self.given_up.is_empty())
            && let Ok(Some(event)) = timeout_at(until, self.inbox.recv()).await
        {
            self.handle(event).await;
            self.flush();
        }
        self.status.connected_to = None;
        self.status.last_error = Some("the agent was stopped".to_owned());
        self.status.needs_person = false;
        self.write_status();
        self.note_what_waits(until).await;
        self.hang_up().await;
        self.journal.close().await;
    }
}
