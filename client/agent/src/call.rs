//! What a running call may use, and what it returns. Below every tool and everything that tools share.

mod context;
mod expected;
mod memory;
mod outcome;
mod risk_gate;

pub use context::Context;
pub use expected::{ExpectedState, ObservationMode};
pub use memory::Memory;
pub(crate) use memory::reserve_memory;
pub use outcome::{MAX_RESULT_BYTES, Outcome};
pub use risk_gate::RiskGate;
