//! What a running call may use, and what it returns. Below every tool and everything that tools share.

mod app_context;
mod context;
mod expected;
mod file_context;
mod installation;
mod memory;
mod outcome;
mod risk_gate;

pub use app_context::AppContext;
#[cfg(target_os = "linux")]
pub(crate) use context::check;
pub use context::{Context, TakeOutput};
pub use expected::{ExpectedState, ObservationMode};
pub use file_context::FileContext;
pub use installation::Installation;
pub use memory::Memory;
pub(crate) use memory::reserve_memory;
pub use outcome::{MAX_RESULT_BYTES, Outcome, ProgramEnd};
pub use risk_gate::RiskGate;
