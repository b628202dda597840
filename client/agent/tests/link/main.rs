//! The agent against a backend that this test plays: honest where it has to be, lying where it can.
//! Real sockets, real mutual TLS, a real disk.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends where something is not as it should be"
)]

mod backend;
mod enrolling;
mod lies;
mod life;
mod world;
