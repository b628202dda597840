//! A call that runs, as the agent knows it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use orion_domain::UserName;
use orion_wire::Dispatched;

use super::chain_recorder::ChainSubject;
use super::slots::Kind;

/// A call that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) cancelled: Arc<AtomicBool>,
    /// What the audit chain records about the call. None for a call without effects.
    pub(super) about: Option<ChainSubject>,
    /// Size of the call's arguments in memory, in bytes.
    pub(super) argument_bytes: usize,
    /// What the call occupies.
    pub(super) kind: Kind,
    /// The person that the call is made for.
    pub(super) user: UserName,
    /// The call, if its content moves beside it: it ends when a later policy or ceiling denies it. None for
    /// other calls.
    pub(super) transfer: Option<Box<Dispatched>>,
}
