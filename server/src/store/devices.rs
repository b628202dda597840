//! Devices: enrolled, approved or held, with the facts and the limit that they report and the grants that
//! they have. The policy itself is in `policies`.

mod backend;
mod ceiling;
mod certificates;
mod enroll;
mod hello;
mod labels;
mod lookup;
mod memory;
mod mismatches;
mod modes;
mod policy;
mod rename;
mod row;
mod state;

use serde_json::value::RawValue;

pub use enroll::{Candidate, RedeemError, Redemption};
pub use hello::{Hello, HelloError, Return};
pub use labels::SetLabelsError;
pub use mismatches::{PolicyMismatch, PolicyMismatchKind};
pub use modes::ModeRow;
pub use rename::RenameError;
pub use row::{DeviceRow, DeviceState, PendingReason};

/// Returns JSON as it is recorded. None if it is none.
fn raw(json: &str) -> Option<&RawValue> {
    serde_json::from_str(json).ok()
}
