//! The real backend with its record and the core of real agents, one step at a time. Whatever comes from
//! outside, which message arrives next, what a network loses, who is killed when and how much of a disk
//! survives, is drawn from a seed; the same seed is the same story, line by line.
//!
//! `make test-sim SEEDS=1000` runs as many; `SEED=7 make test-sim` tells one story.

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
