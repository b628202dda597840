//! The agent against a backend that the test simulates, honest or lying. Real sockets, real mutual TLS, a
//! real disk.

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
