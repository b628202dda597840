//! The session with the backend: connect, use, lose, reconnect. Calls continue in between, and their
//! results are sent on the connection that is open then.

use std::sync::Arc;
use std::time::Duration;

use orion_wire::v1::agent_service_client::AgentServiceClient;
use orion_wire::v1::link_request::Message;
use orion_wire::{PROTOCOL, v1};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;
use tonic::transport::Channel;

use super::environment::Dialling;
use super::event::Event;
use super::owner_pause::to_wire;
use super::receive::receive;
use super::{Agent, Outgoing, Renewal, STALL_TIMEOUT};
use crate::chain::Chain;
use crate::clock::now_ms;
use crate::connect::backoff::{Backoff, STABLE};
use crate::connect::renew::{is_due, succeed_in};
use crate::connect::{ConnectError, Link};
use crate::facts;
use crate::pause::Paused;
use crate::tools::EXECUTORS;

/// Outgoing messages that may wait. A backend that requests more without reading loses the connection.
const MAX_OUTBOX: usize = 4_096;
/// How long the last messages may take to leave when the agent stops.
const HANG_UP_TIMEOUT: Duration = Duration::from_secs(1);

/// The state of the connection.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one")]
pub(super) enum Phase {
    /// Not connected. The next attempt is at this moment.
    Waiting(Instant),
    /// An attempt is under way.
    Connecting(
        #[expect(dead_code, reason = "held so that it ends with the phase")] AbortOnDropHandle<()>,
    ),
    /// Connected.
    Linked(Connection),
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) number: u64,
    pub(super) out: mpsc::Sender<v1::LinkRequest>,
    pub(super) since: Instant,
    /// Whether the connection lasted long enough to reset the backoff.
    pub(super) proven: bool,
    /// When the backend stopped reading. None while no message waits.
    pub(super) stalled_since: Option<Instant>,
    /// When to retry the reconnect with the renewed certificate. None unless an attempt failed.
    pub(super) succeed_at: Option<Instant>,
    pub(super) client: AgentServiceClient<Channel>,
    reader: AbortOnDropHandle<()>,
    hint: Duration,
}

impl Phase {
    pub(super) const fn linked(&self) -> Option<&Connection> {
        match self {
            Self::Linked(linked) => Some(linked),
            Self::Waiting(_) | Self::Connecting(_) => None,
        }
    }

    const fn linked_mut(&mut self) -> Option<&mut Connection> {
        match self {
            Self::Linked(linked) => Some(linked),
            Self::Waiting(_) | Self::Connecting(_) => None,
        }
    }
}

impl Agent {
    /// Does what is due at `now`.
    pub(super) fn session_due(&mut self, now: Instant) {
        match &mut self.phase {
            Phase::Waiting(until) if now >= *until => self.connect(),
            Phase::Waiting(_) | Phase::Connecting(_) => {}
            Phase::Linked(linked) => {
                if now >= linked.since + STABLE && !linked.proven {
                    linked.proven = true;
                    self.backoff.reset();
                }
                if linked.stalled_since.is_some_and(|since| now >= since + STALL_TIMEOUT) {
                    return self.lost(&ConnectError::Ended("the backend takes nothing".to_owned()));
                }
                if linked.succeed_at.take_if(|at| now >= *at).is_some() && self.successor.is_none()
                {
                    return self.succeed();
                }
                let Renewal::Waiting(not_before) = self.renewal else { return };
                let is_due = now >= not_before
                    && is_due(now_ms(), self.identity.renew_at, self.identity.not_after);
                if is_due || self.requested_renewal.is_due(now) {
                    self.renew();
                }
            }
        }
    }

    pub(super) fn connect(&mut self) {
        let begun = if self.has_expired { self.renew_expired() } else { self.begin() };
        match begun {
            Ok(connecting) => self.phase = Phase::Connecting(connecting),
            Err(why) => self.not_connected(&why),
        }
    }

    /// Opens a second connection. The current one ends only when the new one is open, so that the device
    /// stays connected.
    pub(super) fn succeed(&mut self) {
        match self.begin() {
            Ok(connecting) => self.successor = Some(connecting),
            Err(why) => self.not_connected(&why),
        }
    }

    fn begin(&mut self) -> Result<AbortOnDropHandle<()>, ConnectError> {
        let address = self.address()?;
        let tls = self.identity.tls()?;
        let hello = self.hello();
        self.reported_in_hello();
        let (device, state) = (self.identity.device_id, Arc::clone(&self.state));
        let chain = self.chain.as_ref().map(Chain::watch);
        let (events, environment) = (self.events.clone(), Arc::clone(&self.environment));
        let connecting = tokio::spawn(async move {
            let dialling = Dialling { address, tls, hello, device, state, chain };
            let connected = environment.link(dialling).await.map(Box::new);
            drop(events.send(Event::Connected(connected)).await);
        });
        Ok(AbortOnDropHandle::new(connecting))
    }

    /// Returns the address to dial next.
    pub(super) fn address(&self) -> Result<String, ConnectError> {
        let addresses = &self.identity.addresses;
        let address = addresses.get(self.address % addresses.len().max(1)).cloned();
        let none = || ConnectError::Protocol("no address is known; enrol again".to_owned());
        address.ok_or_else(none)
    }

    fn hello(&self) -> v1::Hello {
        v1::Hello {
            protocol_major: PROTOCOL.major,
            protocol_minor: PROTOCOL.minor,
            agent_version: crate::VERSION.to_owned(),
            facts: Some(v1::DeviceFacts::from(&facts::gather(
                &self.settings.places,
                self.toolbox.sandbox,
            ))),
            ceiling: self.ceiling_bytes().into(),
            tools: EXECUTORS.iter().map(|executor| executor.name.to_owned()).collect(),
            generation: 0,
            // The current connection may report a later head before this one opens.
            chain: None,
            backend: self.backend_head(),
            authorities: self.identity.trusted().iter().map(|pin| pin.0.to_vec().into()).collect(),
            pause: self.paused().as_ref().map(to_wire),
            unfinished_calls: self.journal.unfinished().iter().map(ToString::to_string).collect(),
        }
    }

    pub(super) fn connected(&mut self, link: Link) {
        self.successor = None;
        let (address, greeting) = (link.address().to_owned(), link.greeting.clone());
        tracing::info!(
            server = greeting.server_version,
            "connected to {address} as {}",
            greeting.name
        );
        self.status.connected_to = Some(address);
        self.status.device_name = Some(greeting.name.to_string());
        (self.status.last_error, self.status.needs_person) = (None, false);
        self.write_status();
        self.guard.rename(greeting.name);

        self.links += 1;
        let number = self.links;
        self.toolbox.installation.transfers.connected(link.channel());
        let (out, client, reader) = link.split();
        let reader = tokio::spawn(receive(number, reader, self.events.clone()));
        self.phase = Phase::Linked(Connection {
            number,
            out,
            since: Instant::now(),
            proven: false,
            stalled_since: None,
            succeed_at: None,
            client,
            reader: AbortOnDropHandle::new(reader),
            hint: greeting.reconnect,
        });
        self.received_audit_head(greeting.audit.as_ref());
        let unacknowledged = self.journal.unacknowledged().into_iter();
        // Results that wait for the audit chain follow when they are recorded.
        let unacknowledged = unacknowledged.filter(|call| !self.is_being_noted(*call));
        self.outbox = unacknowledged.map(Outgoing::Result).collect();
        self.greeted();
    }

    /// Handles a failed attempt: the next attempt uses the next address, after a wait.
    pub(super) fn not_connected(&mut self, why: &ConnectError) {
        self.successor = None;
        self.has_expired |= matches!(why, ConnectError::Expired);
        let wait = succeed_in(now_ms(), self.identity.not_after, self.environment.random());
        self.address = self.address.wrapping_add(1);
        if let Some(linked) = self.phase.linked_mut() {
            // The current connection serves until its certificate expires.
            tracing::warn!(retry_in = ?wait, "not connected with the new certificate yet: {why}");
            linked.succeed_at = Some(Instant::now() + wait);
            return;
        }
        let wait = if is_useless_soon(why) {
            Backoff::after_refusal(self.environment.random())
        } else {
            self.backoff.after_failure(self.environment.random())
        };
        self.wait(why, wait);
    }

    /// Handles the end of the connection.
    pub(super) fn lost(&mut self, why: &ConnectError) {
        if let Some(successor) = self.successor.take() {
            // The backend ends the old connection as soon as it accepts the new one, and this side may
            // see that end first.
            tracing::debug!("the new connection takes over: {why}");
            self.outbox.clear();
            self.phase = Phase::Connecting(successor);
            return;
        }
        let hint = self.phase.linked().map_or(Duration::ZERO, |linked| linked.hint);
        let wait = if is_useless_soon(why) {
            Backoff::after_refusal(self.environment.random())
        } else {
            self.backoff.after_loss(hint, self.environment.random())
        };
        self.wait(why, wait);
    }

    /// Handles a draining backend: reconnects to the next address, after about the time it asked for.
    pub(super) fn drain(&mut self, reconnect_ms: u64) {
        self.address = self.address.wrapping_add(1);
        let wait =
            self.backoff.after_loss(Duration::from_millis(reconnect_ms), self.environment.random());
        self.wait(&ConnectError::Drained, wait);
    }

    fn wait(&mut self, why: &ConnectError, wait: Duration) {
        let text = self.options.add_to(&why.to_string());
        // A repeated failure is logged as a warning once.
        if self.status.last_error.as_ref() != Some(&text) {
            tracing::warn!(retry_in = ?wait, "not connected: {text}");
            self.status.connected_to = None;
            self.status.last_error = Some(text);
            self.status.needs_person = why.is_lasting();
            self.write_status();
        } else {
            tracing::debug!(retry_in = ?wait, "not connected: {text}");
        }
        self.outbox.clear();
        self.successor = None;
        self.toolbox.installation.transfers.disconnected();
        self.phase = Phase::Waiting(Instant::now() + wait);
    }

    pub(super) fn write_status(&mut self) {
        self.status.paused_at = self.pause.as_ref().map(Paused::since);
        self.status.running_calls = self.running.len() + self.given_up.len();
        self.status.config = self.settings.source.as_ref().map(|source| source.path().to_owned());
        self.status.pid = std::process::id();
        self.status.at = now_ms();
        self.status.write(self.state.dir());
    }

    /// Queues a message, or drops it without a connection.
    pub(super) fn send(&mut self, message: Message) {
        self.push(Outgoing::Message(message));
    }

    pub(super) fn push(&mut self, outgoing: Outgoing) {
        if self.phase.linked().is_none() {
            return;
        }
        if self.outbox.len() >= MAX_OUTBOX {
            let why = "the backend asks for more than it takes".to_owned();
            return self.lost(&ConnectError::Ended(why));
        }
        self.outbox.push_back(outgoing);
    }

    /// Returns the next message to send. Results that were acknowledged since they were queued are skipped.
    pub(super) fn next_message(&mut self) -> Option<Message> {
        loop {
            match self.outbox.pop_front()? {
                Outgoing::Message(message) => return Some(message),
                Outgoing::Result(call) => {
                    // A later result than the queued one is sent when the chain has recorded it.
                    if let Some(ended) = self.journal.result(call)
                        && !self.is_being_noted(call)
                    {
                        return Some(Message::CallResult(self.result(call, ended)));
                    }
                }
            }
        }
    }

    /// Sends as many queued messages as fit without waiting.
    pub(super) fn flush(&mut self) {
        while let Some(out) = self.phase.linked().map(|linked| linked.out.clone())
            && !self.outbox.is_empty()
        {
            let Ok(permit) = out.try_reserve_owned() else {
                if let Some(linked) = self.phase.linked_mut() {
                    linked.stalled_since.get_or_insert_with(Instant::now);
                }
                return;
            };
            if let Some(message) = self.next_message() {
                permit.send(v1::LinkRequest { message: Some(message) });
            }
        }
        self.not_stalled();
    }

    pub(super) fn not_stalled(&mut self) {
        if let Some(linked) = self.phase.linked_mut() {
            linked.stalled_since = None;
        }
    }

    /// Closes the stream gracefully, so that sent messages arrive.
    pub(super) async fn hang_up(&mut self) {
        if let Phase::Linked(Connection { out, reader, .. }) =
            std::mem::replace(&mut self.phase, Phase::Waiting(Instant::now()))
        {
            drop(out);
            drop(timeout(HANG_UP_TIMEOUT, reader).await);
        }
    }
}

/// Returns whether another attempt soon is useless. An admin may let in a device whose certificate is good at any
/// moment, as after a quarantine, and then it is wanted at once.
const fn is_useless_soon(why: &ConnectError) -> bool {
    why.is_lasting() && !matches!(why, ConnectError::Denied(_))
}
