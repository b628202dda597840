//! Sends a call to its device and waits for the result. It takes the permit by value: what is permitted
//! once is sent once.

mod dispatch_slot;
mod in_flight;

pub use dispatch_slot::{DispatchSlot, RouteError};
pub(super) use in_flight::{InFlight, Sent};
