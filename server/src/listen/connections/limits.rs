//! The limits of a port's connections: their number, and the timeouts of each.

use std::time::Duration;

/// The limits of one port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum number of anonymous connections of one address.
    pub per_address: usize,
    /// Maximum number of anonymous connections of all addresses.
    pub anonymous: usize,
    /// How many connections of one person or device are kept.
    pub per_owner: usize,
    /// Maximum number of connections.
    pub total: usize,
    /// Age from which an anonymous connection may be closed to make room.
    pub grace: Duration,
    /// Timeout of a TLS handshake.
    pub handshake: Duration,
    /// Timeout of the client's HTTP/2 preface, or of its first HTTP/1.1 request.
    pub preface: Duration,
    /// How long an anonymous connection without a request is kept.
    pub idle: Duration,
    /// How long a person's or a device's connection without a request is kept.
    pub idle_known: Duration,
    /// How long a peer may read nothing of what is sent.
    pub write: Duration,
    /// How long a peer may leave a finished response unread.
    pub answer: Duration,
    /// How long a connection may take to drain.
    pub drain: Duration,
}

impl ConnectionLimits {
    /// Creates limits for this number of connections in total and of one address.
    #[must_use]
    pub fn new(total: usize, per_address: usize) -> Self {
        Self {
            per_address,
            anonymous: (total / 2).clamp(1, 1024),
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
