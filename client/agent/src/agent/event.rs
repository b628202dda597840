//! Everything that can happen to an agent. The loop takes one at a time.

use orion_domain::CallId;
use orion_wire::v1;
use tokio::sync::mpsc::OwnedPermit;

use super::ceiling::OwnerCeiling;
use crate::connect::renew::Renewed;
use crate::connect::{ConnectError, Link};
use crate::journal::Ended;

/// One thing that happened.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "few wait at once; boxes would cost each call")]
pub enum Event {
    /// A connection stands, or could not be made.
    Connected(Result<Box<Link>, ConnectError>),
    /// The backend said something.
    Received {
        /// On which connection; one that is over does not count.
        link: u64,
        /// What.
        message: v1::link_response::Message,
    },
    /// A connection ended.
    Lost {
        /// Which.
        link: u64,
        /// Why.
        why: ConnectError,
    },
    /// There is room to send on the connection.
    Writable(OwnedPermit<v1::LinkRequest>),
    /// A call runs.
    Started {
        /// Which.
        call: CallId,
    },
    /// A call got on.
    Progress {
        /// Which.
        call: CallId,
        /// Units done.
        done: u64,
        /// Units in all; 0 where that is not known.
        total: u64,
        /// What, in words.
        note: String,
    },
    /// A call is over.
    Finished {
        /// Which.
        call: CallId,
        /// How.
        ended: Ended,
        /// Whether more is to come of it.
        slot: Slot,
    },
    /// A new certificate is here, or was not given.
    Renewed(Result<Renewed, ConnectError>),
    /// The device's owner changed the file.
    Owner(OwnerCeiling),
    /// What is lent was opened, and the policy that lends it was kept.
    Opened {
        /// What that policy names and is not there as it is named.
        found: Vec<v1::PolicyFinding>,
    },
    /// Something more is on disk of the device's own audit.
    Noted,
    /// A time has come that was waited for.
    Due,
    /// The agent is to stop.
    Shutdown,
}

/// What a call that was reported still occupies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// Nothing: it is over and done.
    Free,
    /// A thread, but no place among the calls in flight: it was given up on and still runs.
    GivenUp,
}
