//! A TCP proxy that breaks: it stands between a device and its backend, with faults that a test sets
//! at any time, for new connections and for those that live, each direction by itself.
//!
//! It runs in the test's own process, on loopback, and draws nothing at random: the same faults in the
//! same order are the same run. It is our own because what there is does not fit: toxiproxy and its
//! like are servers to be started beside the tests, turmoil simulates a network without sockets, and
//! the crates of stream adapters neither refuse a connection nor keep one open without moving a byte.

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

/// See the module. When it is dropped, its connections end.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: Mutex<String>,
    faults: watch::Sender<Faults>,
    /// Counts up; with how it was cut last.
    cuts: watch::Sender<(u64, Cut)>,
    live: AtomicUsize,
    up_bytes: AtomicU64,
    down_bytes: AtomicU64,
    stop: CancellationToken,
}

/// What is wrong with everything that goes through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// New connections are reset at once; those that live are not touched.
    pub refuses: bool,
    /// From the device to the backend.
    pub up: Flow,
    /// From the backend to the device.
    pub down: Flow,
}

/// How one direction moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Flow {
    /// As it comes.
    #[default]
    Free,
    /// Not at all: sockets stay open, no byte moves, and neither does the end of a connection. A new
    /// connection is accepted and goes no further. What was sent meanwhile arrives later, as it does
    /// when TCP repeats what a network lost.
    Held,
    /// Each piece this much later, one piece after the other.
    Late(Duration),
    /// This many bytes a second.
    Slow(u32),
    /// One byte at a time, as fast as that goes.
    Bytewise,
}

/// How a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// RST to both sides: what was under way is lost.
    Reset,
    /// FIN to both sides, as if each had hung up on the other.
    Finish,
}

impl Faults {
    /// Both directions alike.
    #[must_use]
    pub const fn both(flow: Flow) -> Self {
        Self { refuses: false, up: flow, down: flow }
    }

    /// Only what the device says.
    #[must_use]
    pub const fn up(flow: Flow) -> Self {
        Self { refuses: false, up: flow, down: Flow::Free }
    }

    /// Only what the backend says.
    #[must_use]
    pub const fn down(flow: Flow) -> Self {
        Self { refuses: false, up: Flow::Free, down: flow }
    }

    /// No new connections.
    #[must_use]
    pub const fn refusing() -> Self {
        Self { refuses: true, up: Flow::Free, down: Flow::Free }
    }
}

impl Proxy {
    /// Listens on a free port of loopback for connections to `target`, `host:port`, without faults.
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

    /// Where it listens, `127.0.0.1:port`.
    #[must_use]
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// From here on, new connections go to this `host:port`.
    pub fn aim(&self, target: &str) {
        *self.shared.target.lock().unwrap_or_else(PoisonError::into_inner) = target.to_owned();
    }

    /// These faults, instead of those before.
    pub fn set(&self, faults: Faults) {
        self.shared.faults.send_replace(faults);
    }

    /// No faults.
    pub fn heal(&self) {
        self.set(Faults::default());
    }

    /// The faults of this moment.
    #[must_use]
    pub fn faults(&self) -> Faults {
        *self.shared.faults.borrow()
    }

    /// Cuts every connection that lives, whatever holds it.
    pub fn cut(&self, how: Cut) {
        self.shared.cuts.send_modify(|(count, last)| {
            *count += 1;
            *last = how;
        });
    }

    /// How many connections live.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.live.load(Ordering::SeqCst)
    }

    /// How many bytes went to the backend and to the device, all connections together.
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
        // Who hung up again before it was accepted is no matter.
        let Ok((client, _)) = accepted else { continue };
        if shared.faults.borrow().refuses {
            drop(client.set_zero_linger());
            continue;
        }
        tokio::spawn(connection(client, Arc::clone(&shared)));
    }
}

/// One connection from its first byte to its last.
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
        // Nobody is there: the device hears of it as of a closed port.
        None => drop(client.set_zero_linger()),
    }
}

/// A connection is counted for as long as this is there.
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
