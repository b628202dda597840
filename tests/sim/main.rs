//! Simulates the real backend with its database and the core of real agents, one step at a time. A seed
//! determines every outside event: which message arrives next, what a network loses, who is killed when,
//! and how much of a disk survives. The same seed gives the same story, line by line.
//!
//! `make test-sim SEEDS=1000` runs as many; `SEED=7 make test-sim` runs one story.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "where the simulation is not as it should be, it stops there and says why"
)]

mod backend;
mod call;
mod chance;
mod check;
mod device;
mod disk;
mod environment;
mod event;
mod ground;
mod host;
mod label;
mod link;
mod stories;
mod story;
mod trace;
mod world;
