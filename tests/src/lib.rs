//! The test world: real backends, real device agents and the real command line, each a process of its
//! own in folders of its own, with ports of its own.
//!
//! Start reading at [`World`]. [`LyingServer`] and [`LyingAgent`] are the two misbehaving sides; they
//! speak the real protocol over real mTLS.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "where the world is not as a test needs it, the test stops there and says why"
)]

mod aimock;
mod binaries;
mod call;
mod cli;
mod client;
mod dial;
mod door;
mod elsewhere;
mod enrolled;
mod eventually;
mod file_calls;
pub mod flooder;
mod held_model;
mod http_client;
mod lying_agent;
mod lying_server;
#[cfg(target_os = "linux")]
mod namespace;
mod outside;
mod process;
mod proxy;
mod record;
mod running;
mod scripted_model;
mod seen;
#[cfg(target_os = "linux")]
mod terminal;
mod transfer;
mod tree;
mod usage;
mod world;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use aimock::Aimock;
pub use binaries::program;
pub use call::Call;
pub use cli::{Cli, Output};
pub use client::{Answer, Client};
pub use dial::{channel, channel_from, connect};
pub use door::door;
pub use elsewhere::elsewhere;
pub use enrolled::{Enrolled, Linked, enroll_request, enrolling, enrolling_from};
pub use eventually::{PATIENCE, eventually};
pub use file_calls::{FileCall, file_tools};
pub use held_model::{HeldModel, HeldRequest};
pub use http_client::{HttpAnswer, HttpClient, HttpStream};
pub use lying_agent::{LyingAgent, hello};
pub use lying_server::{Deceived, Link, LyingServer};
#[cfg(target_os = "linux")]
pub use namespace::{Namespace, enter as enter_namespace, lead_everything_here};
pub use outside::{Outside, plain_target};
pub use process::{Launch, Process};
pub use proxy::{Cut, Faults, Flow, Proxy};
pub use record::{audit_of, change_one_byte, commits, open_record};
pub use running::running;
pub use scripted_model::{Reply, STREAM, ScriptedModel, Then};
pub use seen::Seen;
#[cfg(target_os = "linux")]
pub use terminal::Terminal;
pub use transfer::{MILK, upload};
pub use tree::{Tree, tree};
pub use usage::Usage;
pub use world::{Device, DeviceBuilder, World};

/// Returns the time in Unix milliseconds.
#[must_use]
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// Returns the given percentile; zero where there are no values.
#[must_use]
pub fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let last = sorted.len().saturating_sub(1);
    sorted.get((sorted.len() * percent / 100).min(last)).copied().unwrap_or_default()
}
