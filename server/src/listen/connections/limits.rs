//! How many connections a port takes, and how long each may take over what.

use std::time::Duration;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// How many of one address at once, as long as nobody has shown on them who they are.
    pub per_address: usize,
    /// How many of all addresses together, as long as nobody has shown on them who they are.
    pub strangers: usize,
    /// How many of one person, or of one device, are kept for them.
    pub per_owner: usize,
    /// How many in all.
    pub total: usize,
    /// How old a connection is before it has to make room.
    pub grace: Duration,
    /// How long a TLS handshake may take.
    pub handshake: Duration,
    /// How long a client may take to say what it speaks.
    pub preface: Duration,
    /// How long a connection without a request is kept, where nobody has shown on it who they are.
    pub idle: Duration,
    /// How long a connection without a request is kept for a person or a device.
    pub idle_known: Duration,
    /// How long a peer may take nothing of what is sent.
    pub write: Duration,
    /// How long a peer may leave an answer that is ready where it is.
    pub answer: Duration,
    /// How long a connection that is to end may take over it.
    pub drain: Duration,
}

impl ConnectionLimits {
    /// For a port with so many connections in all, and so many of one address.
    #[must_use]
    pub fn new(total: usize, per_address: usize) -> Self {
        Self {
            per_address,
            strangers: (total / 2).clamp(1, 1024),
            per_owner: 64,
            total,
            grace: Duration::ZERO,
            handshake: Duration::from_secs(10),
            preface: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            idle_known: Duration::from_secs(300),
            write: Duration::from_secs(15),
            answer: Duration::from_secs(60),
            drain: Duration::from_secs(10),
        }
    }
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self::new(4096, 128)
    }
}
