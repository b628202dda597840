//! A TCP proxy with faults, between a device and its backend. A test sets faults at any time, for new
//! and existing connections, each direction separately.
//!
//! It runs in the test's own process, on loopback, and uses no randomness: the same faults in the same
//! order give the same run. No existing tool fits: toxiproxy and similar tools are servers to start
//! beside the tests, turmoil simulates a network without sockets, and the stream adapter crates neither
//! refuse a connection nor keep one open without moving a byte.

mod carry;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A TCP proxy with faults. Dropping it closes its connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: Mutex<String>,
    faults: watch::Sender<Faults>,
    /// The number of cuts, with the kind of the last one.
    cuts: watch::Sender<(u64, Cut)>,
    live: AtomicUsize,
    up_bytes: AtomicU64,
    down_bytes: AtomicU64,
    stop: CancellationToken,
}

/// The active faults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// New connections are reset at once; existing ones are not affected.
    pub refuses: bool,
    /// From the device to the backend.
    pub up: Flow,
    /// From the backend to the device.
    pub down: Flow,
}

/// The way in which one direction moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Flow {
    /// Without delay.
    #[default]
    Free,
    /// No byte moves: sockets stay open, and even the end of a connection is held back. A new connection
    /// is accepted and not forwarded. Held data arrives later, as it does when TCP retransmits what a
    /// network lost.
    Held,
    /// Each piece is delayed by this time, one piece after the other.
    Late(Duration),
    /// At most this many bytes a second.
    Slow(u32),
    /// One byte at a time, without delay.
    Bytewise,
}

/// The way in which a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// RST to both sides: data in flight is lost.
    Reset,
    /// FIN to both sides, as if each had closed the connection.
    Finish,
}

impl Faults {
    /// Applies a flow to both directions.
    #[must_use]
    pub const fn both(flow: Flow) -> Self {
        Self { refuses: false, up: flow, down: flow }
    }

    /// Applies a flow only to the device's data.
    #[must_use]
    pub const fn up(flow: Flow) -> Self {
        Self { refuses: false, up: flow, down: Flow::Free }
    }

    /// Applies a flow only to the backend's data.
    #[must_use]
    pub const fn down(flow: Flow) -> Self {
        Self { refuses: false, up: Flow::Free, down: flow }
    }

    /// Refuses new connections.
    #[must_use]
    pub const fn refusing() -> Self {
        Self { refuses: true, up: Flow::Free, down: Flow::Free }
    }
}

impl Proxy {
    /// Listens on a free port of loopback and forwards to `target`, `host:port`, without faults.
    ///
    /// # Panics
    /// It cannot listen.
    pub async fn start(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            target: Mutex::new(target.to_owned()),
            faults: watch::Sender::new(Faults::default()),
            cuts: watch::Sender::new((0, Cut::Reset)),
            live: AtomicUsize::new(0),
            up_bytes: AtomicU64::new(0),
            down_bytes: AtomicU64::new(0),
            stop: CancellationToken::new(),
        });
        tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared }
    }

    /// Returns its address, `127.0.0.1:port`.
    #[must_use]
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Forwards new connections to this `host:port`.
    pub fn aim(&self, target: &str) {
        *self.shared.target.lock().unwrap_or_else(PoisonError::into_inner) = target.to_owned();
    }

    /// Replaces the faults.
    pub fn set(&self, faults: Faults) {
        self.shared.faults.send_replace(faults);
    }

    /// Removes all faults.
    pub fn heal(&self) {
        self.set(Faults::default());
    }

    /// Returns the current faults.
    #[must_use]
    pub fn faults(&self) -> Faults {
        *self.shared.faults.borrow()
    }

    /// Cuts every open connection, even a held one.
    pub fn cut(&self, how: Cut) {
        self.shared.cuts.send_modify(|(count, last)| {
            *count += 1;
            *last = how;
        });
    }

    /// Returns the number of open connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.live.load(Ordering::SeqCst)
    }

    /// Returns the bytes sent to the backend and to the device, over all connections.
    #[must_use]
    pub fn moved(&self) -> (u64, u64) {
        let Shared { up_bytes, down_bytes, .. } = &*self.shared;
        (up_bytes.load(Ordering::SeqCst), down_bytes.load(Ordering::SeqCst))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let accepted = tokio::select! {
            () = shared.stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        // A client that disconnected before it was accepted is ignored.
        let Ok((client, _)) = accepted else { continue };
        if shared.faults.borrow().refuses {
            drop(client.set_zero_linger());
            continue;
        }
        tokio::spawn(connection(client, Arc::clone(&shared)));
    }
}

/// Runs one connection to its end.
async fn connection(client: TcpStream, shared: Arc<Shared>) {
    let _lives = Lives::begin(&shared);
    let mut cuts = shared.cuts.subscribe();
    let reached = async {
        carry::released(&mut shared.faults.subscribe(), |faults| faults.up).await;
        let target = shared.target.lock().unwrap_or_else(PoisonError::into_inner).clone();
        TcpStream::connect(target).await
    };
    let reached = tokio::select! {
        () = shared.stop.cancelled() => return,
        _ = cuts.changed() => None,
        reached = reached => reached.ok(),
    };
    match reached {
        Some(server) => carry::carry(client, server, &shared, cuts).await,
        // Without a backend, the device sees the same as with a closed port.
        None => drop(client.set_zero_linger()),
    }
}

/// Counts a connection until dropped.
struct Lives<'a>(&'a Shared);

impl<'a> Lives<'a> {
    fn begin(shared: &'a Shared) -> Self {
        shared.live.fetch_add(1, Ordering::SeqCst);
        Self(shared)
    }
}

impl Drop for Lives<'_> {
    fn drop(&mut self) {
        self.0.live.fetch_sub(1, Ordering::SeqCst);
    }
}
