//! What a call reports while it runs.

use orion_domain::CallId;

use crate::journal::Ended;

/// Something that happened to a call.
#[derive(Debug)]
pub enum CallEvent {
    /// The call started.
    Started {
        /// The call.
        call: CallId,
    },
    /// The call reports progress.
    Progress {
        /// The call.
        call: CallId,
        /// Units done.
        done: u64,
        /// Units in all. 0 if not known.
        total: u64,
        /// What the tool is doing, as text for people.
        note: String,
    },
    /// The call's programs printed something.
    Output {
        /// The call.
        call: CallId,
        /// The position of the first byte in all output of the call.
        offset: u64,
        /// The bytes.
        data: Vec<u8>,
    },
    /// The call ended.
    Finished {
        /// The call.
        call: CallId,
        /// How it ended.
        ended: Ended,
        /// What the call still occupies.
        slot: Slot,
    },
}

/// What a reported call still occupies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// Nothing: the call ended.
    Free,
    /// A thread, but no slot among the calls in flight: the call missed its deadline and still runs.
    GivenUp,
}
