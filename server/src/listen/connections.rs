//! The table of a port's connections. An anonymous connection counts for its address, and is closed to make
//! room for newer ones. A connection that belongs to a person or a device is kept.

mod limits;
mod state;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use governor::clock::DefaultClock;
use governor::state::InMemoryState;
use governor::state::direct::NotKeyed;
use governor::{Quota, RateLimiter};
use orion_domain::UserName;
use rand::RngExt as _;

pub use limits::ConnectionLimits;
pub use state::{CloseReason, ConnectionState};

use super::Source;

/// How many pairs of source and reason the log counts between two sweeps.
const MAX_TALLIES: usize = 64;
/// How many rejected requests an address may have at once, and per second after that, before its connection
/// is closed.
const REFUSED_BURST: NonZeroU32 = NonZeroU32::new(1_000).unwrap();
const REFUSED_PER_SECOND: NonZeroU32 = NonZeroU32::new(50).unwrap();
/// The same limits for a person or a device.
const KNOWN_REFUSED_BURST: NonZeroU32 = NonZeroU32::new(10_000).unwrap();
const KNOWN_REFUSED_PER_SECOND: NonZeroU32 = NonZeroU32::new(500).unwrap();
/// Minimum delay of each new connection from an address, after one of its connections was closed for misuse.
/// The maximum is twice as long. Each delay is random, so that simultaneous connections are not served at
/// once.
const PENALTY_DELAY: Duration = Duration::from_millis(250);
/// How long an address is delayed after misuse.
const PENALTY: Duration = Duration::from_secs(10);
/// How long a peer without connections is remembered.
const PEER_TTL: Duration = Duration::from_secs(60);
/// How many peers are remembered.
const MAX_PEERS: usize = 10_000;

/// The owner that a connection counts for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Owner {
    /// An address, until the peer signs in.
    Address(Source),
    /// A person who is signed in.
    Person(UserName),
    /// A device that showed its certificate, by its id.
    Device(String),
}

impl Owner {
    const fn is_known(&self) -> bool {
        match self {
            Self::Address(_) => false,
            Self::Person(_) | Self::Device(_) => true,
        }
    }
}

type Bucket = RateLimiter<NotKeyed, InMemoryState, DefaultClock>;

#[derive(Debug)]
struct Peer {
    refused: Bucket,
    seen: Instant,
    penalty_until: Option<Instant>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    connections: BTreeMap<u64, (Owner, Arc<ConnectionState>)>,
    by_owner: HashMap<Owner, BTreeSet<u64>>,
    /// Number of anonymous connections.
    anonymous: usize,
    peers: HashMap<Owner, Peer>,
    closed: HashMap<(Source, CloseReason), u64>,
}

/// The open connections of one port.
#[derive(Debug)]
pub struct ConnectionTable {
    limits: ConnectionLimits,
    open: Mutex<Open>,
}

/// A connection's entry in the table; dropped when the connection ends.
#[derive(Debug)]
pub struct Admission {
    id: u64,
    table: Arc<ConnectionTable>,
    state: Arc<ConnectionState>,
    delay: Option<Duration>,
}

impl ConnectionTable {
    /// Creates an empty table.
    #[must_use]
    pub fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, open: Mutex::default() })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a new connection; a full table first closes an anonymous one. `None` where no connection can be
    /// closed for it.
    #[must_use]
    pub fn admit(self: &Arc<Self>, source: Source, now: Instant) -> Option<Admission> {
        let limits = &self.limits;
        let mut open = self.open();
        let owner = Owner::Address(source.clone());
        let of_address = open.by_owner.get(&owner).map_or(0, BTreeSet::len);
        let crowded = if of_address >= limits.per_address {
            Some(owner.clone())
        } else if open.anonymous >= limits.anonymous || open.connections.len() >= limits.total {
            let addresses = open.by_owner.iter().filter(|(owner, _)| !owner.is_known());
            let most = addresses.max_by_key(|(_, ids)| ids.len()).map(|(owner, _)| owner.clone());
            Some(most.unwrap_or_else(|| owner.clone()))
        } else {
            None
        };
        if let Some(crowded) = crowded
            && !open.make_room(&crowded, now, limits.grace)
        {
            open.tally(&source, CloseReason::NoRoom);
            return None;
        }
        let id = open.next;
        open.next += 1;
        let state = Arc::new(ConnectionState::new(now));
        open.insert(id, owner.clone(), Arc::clone(&state));
        let penalty_until = open.peer(owner, now).and_then(|peer| peer.penalty_until);
        let has_penalty = penalty_until.is_some_and(|until| now < until);
        let delay = has_penalty.then(|| PENALTY_DELAY.mul_f64(rand::rng().random_range(1.0..2.0)));
        Some(Admission { id, table: Arc::clone(self), state, delay })
    }

    /// Closes the connections that exceed a timeout, and logs the closings since the last sweep.
    pub fn sweep(&self, now: Instant) {
        let mut open = self.open();
        for (owner, connection) in open.connections.values() {
            connection.check(owner.is_known(), now, &self.limits);
        }
        let Open { by_owner, peers, .. } = &mut *open;
        peers.retain(|owner, peer| {
            now.saturating_duration_since(peer.seen) < PEER_TTL || by_owner.contains_key(owner)
        });
        for ((source, reason), count) in open.closed.drain() {
            tracing::warn!(from = %source, count, %reason, "connections were closed");
        }
    }
}

impl Open {
    /// Returns the entry of a peer that was seen now. `None` where too many peers are remembered.
    fn peer(&mut self, owner: Owner, now: Instant) -> Option<&Peer> {
        if self.peers.len() >= MAX_PEERS && !self.peers.contains_key(&owner) {
            return None;
        }
        let (per_second, burst) = if owner.is_known() {
            (KNOWN_REFUSED_PER_SECOND, KNOWN_REFUSED_BURST)
        } else {
            (REFUSED_PER_SECOND, REFUSED_BURST)
        };
        let peer = self.peers.entry(owner).or_insert_with(|| Peer {
            refused: RateLimiter::direct(Quota::per_second(per_second).allow_burst(burst)),
            seen: now,
            penalty_until: None,
        });
        peer.seen = now;
        Some(peer)
    }

    fn insert(&mut self, id: u64, owner: Owner, state: Arc<ConnectionState>) {
        self.anonymous += usize::from(!owner.is_known());
        self.by_owner.entry(owner.clone()).or_default().insert(id);
        self.connections.insert(id, (owner, state));
    }

    fn remove(&mut self, id: u64) -> Option<(Owner, Arc<ConnectionState>)> {
        let (owner, state) = self.connections.remove(&id)?;
        self.anonymous -= usize::from(!owner.is_known());
        if let Some(ids) = self.by_owner.get_mut(&owner) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_owner.remove(&owner);
            }
        }
        Some((owner, state))
    }

    /// Closes an anonymous connection of this address: the oldest without a request, else the oldest. A
    /// connection younger than `grace` is kept.
    fn make_room(&mut self, owner: &Owner, now: Instant, grace: Duration) -> bool {
        let Some(ids) = self.by_owner.get(owner) else { return false };
        let of_age = |id: &&u64| {
            let state = self.connections.get(id).map(|(_, state)| state);
            state.is_some_and(|state| now.saturating_duration_since(state.since()) >= grace)
        };
        let is_silent =
            |id: &&u64| self.connections.get(id).is_some_and(|(_, state)| !state.has_asked());
        let mut of_age = ids.iter().filter(of_age).peekable();
        let oldest = of_age.peek().copied().copied();
        let Some(id) = of_age.find(is_silent).copied().or(oldest) else { return false };
        if let Some((owner, state)) = self.remove(id) {
            state.close(CloseReason::NoRoom);
            if let Owner::Address(source) = owner {
                self.tally(&source, CloseReason::NoRoom);
            }
        }
        true
    }

    fn tally(&mut self, source: &Source, reason: CloseReason) {
        if self.closed.len() < MAX_TALLIES {
            *self.closed.entry((source.clone(), reason)).or_default() += 1;
        }
    }
}

impl Admission {
    /// Returns the connection's state.
    #[must_use]
    pub const fn state(&self) -> &Arc<ConnectionState> {
        &self.state
    }

    /// Returns how long to wait before the connection is read. `None` for no delay.
    #[must_use]
    pub const fn delay(&self) -> Option<Duration> {
        self.delay
    }

    /// Assigns the connection to a person or a device, which keeps it open. Where the owner has as many
    /// connections as are kept for one, it stays anonymous.
    pub fn belongs_to(&self, owner: &Owner) {
        if self.state.is_signed_in() {
            return;
        }
        let mut open = self.table.open();
        let Some((current, _)) = open.connections.get(&self.id) else { return };
        let kept = open.by_owner.get(owner).map_or(0, BTreeSet::len);
        if current.is_known() || kept >= self.table.limits.per_owner {
            return;
        }
        if let Some((_, state)) = open.remove(self.id) {
            state.signed_in();
            open.insert(self.id, owner.clone(), state);
            open.peer(owner.clone(), Instant::now());
        }
    }

    /// Counts a rejected request, and closes the connection where its owner has too many. Requests that a
    /// person or a device sent too fast do not count.
    pub fn refused(&self, too_fast: bool) {
        let open = self.table.open();
        let Some((owner, _)) = open.connections.get(&self.id) else { return };
        let peer = open.peers.get(owner).filter(|_| !(too_fast && owner.is_known()));
        if peer.is_some_and(|peer| peer.refused.check().is_err()) {
            self.state.close(CloseReason::Refused);
        }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        let mut open = self.table.open();
        let removed = open.remove(self.id);
        let (Some((owner, _)), Some(reason)) = (removed, self.state.closed_for()) else { return };
        if reason.is_misuse()
            && let Some(peer) = open.peers.get_mut(&owner)
        {
            peer.penalty_until = Some(Instant::now() + PENALTY);
        }
        match owner {
            Owner::Person(user) => tracing::warn!(%user, %reason, "a connection was closed"),
            Owner::Address(_) | Owner::Device(_) if reason == CloseReason::Protocol => {}
            Owner::Address(source) => open.tally(&source, reason),
            Owner::Device(id) => open.tally(&Source::Device(id), reason),
        }
    }
}

#[cfg(test)]
mod tests;
