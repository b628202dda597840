//! Answers the questions of one running call. Whatever a worker asks, it gets only what its call may have, and
//! loses what it holds when the call ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use orion_domain::{CallId, ToolError};

use super::FileCall;
use crate::call::Memory;
use crate::coordination::{Answer, HeldPaths, Question, hold};
use crate::trash::{Reservation, Trash};

/// The most locks that one call holds at a time.
const MAX_LOCKS: usize = 16;
/// The most paths of one lock.
const MAX_PATHS: usize = 1024;

/// What the agent keeps for one call.
#[derive(Debug)]
pub(super) struct Desk<'a> {
    call: CallId,
    has_effects: bool,
    trash: &'a Trash,
    memory: &'a Memory,
    deadline: Instant,
    cancelled: &'a AtomicBool,
    held: Vec<HeldPaths>,
    forgot: bool,
}

impl<'a> Desk<'a> {
    pub(super) const fn of(call: &FileCall<'a>) -> Self {
        Self {
            call: call.call,
            has_effects: call.has_effects,
            trash: call.trash,
            memory: call.memory,
            deadline: call.deadline,
            cancelled: call.cancelled,
            held: Vec::new(),
            forgot: false,
        }
    }

    /// Returns whether the worker may have removed the call's own record.
    pub(super) const fn forgot(&self) -> bool {
        self.forgot
    }

    /// Answers a question. Waits where the answer takes other calls to end, and never past the deadline.
    pub(super) fn answer(&mut self, question: Question) -> Answer {
        let done =
            |result: Result<(), ToolError>| result.map_or_else(Answer::Stop, |()| Answer::Done);
        let (deadline, cancelled) = (self.deadline, self.cancelled);
        let check = || crate::call::check(cancelled.load(Ordering::Relaxed), deadline);
        match question {
            Question::Lock(paths) if paths.len() > MAX_PATHS || self.held.len() >= MAX_LOCKS => {
                Answer::No
            }
            Question::Lock(paths) => done(hold(paths, &check).map(|held| self.held.push(held))),
            Question::Unlock(paths) => {
                self.held.retain(|held| held.paths() != paths);
                Answer::Done
            }
            Question::Memory(bytes) => done(self.memory.take(&check, bytes)),
            Question::HasRoom { bytes, leaving } => {
                if self.trash.has_room(bytes, leaving) {
                    Answer::Yes
                } else {
                    Answer::No
                }
            }
            // A call without effects changes no account of the trash.
            Question::Reserve { .. }
            | Question::Hold { .. }
            | Question::GiveBack(_)
            | Question::TakenBack(_)
            | Question::Forgetting(_)
                if !self.has_effects =>
            {
                Answer::No
            }
            // Room is for the call itself.
            Question::Reserve { call, .. } | Question::Hold { call, .. } if call != self.call => {
                Answer::No
            }
            Question::Reserve { call, bytes, leaving } => {
                match self.trash.reserve(call, bytes, leaving) {
                    Reservation::Made => Answer::Yes,
                    Reservation::NeedsSweep => Answer::NeedsSweep,
                    Reservation::NoSpace => Answer::No,
                }
            }
            Question::Hold { call, at_ms, bytes } => {
                self.trash.account(call, at_ms, bytes);
                Answer::Done
            }
            Question::GiveBack(call) => {
                self.trash.give_back_room(call);
                Answer::Done
            }
            Question::TakenBack(call) => {
                self.trash.taken_back(call);
                Answer::Done
            }
            Question::Forgetting(call) => {
                self.forgot |= call == self.call;
                Answer::Done
            }
        }
    }
}
