//! What happens on one connection, as far as it decides whether that is kept.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::ConnectionLimits;
use crate::listen::frames::OpenStreams;

/// Why a connection was closed by this side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum CloseReason {
    /// Another one took its place, or there was none for it.
    #[error("there are too many of this address")]
    NoRoom,
    /// The client did not say what it speaks.
    #[error("nothing was said at the beginning")]
    Preface,
    /// There was no request for a while.
    #[error("there was no request for a while")]
    Idle,
    /// Nothing of what was sent is taken.
    #[error("nothing of what was sent was read")]
    Write,
    /// Answers are not taken.
    #[error("answers were not taken")]
    Answer,
    /// Too many requests were refused.
    #[error("too many requests were refused")]
    Refused,
    /// Too many frames carried nothing.
    #[error("too many frames carried nothing")]
    Frames,
    /// Too many streams were opened.
    #[error("too many streams were opened")]
    Streams,
    /// HTTP/2 ended it, for a fault or a limit of its own.
    #[error("the rules of HTTP/2 were not kept")]
    Protocol,
}

impl CloseReason {
    const ALL: [Self; 9] = [
        Self::NoRoom,
        Self::Preface,
        Self::Idle,
        Self::Write,
        Self::Answer,
        Self::Refused,
        Self::Frames,
        Self::Streams,
        Self::Protocol,
    ];

    /// Whether its peer did what no honest one does.
    pub(super) const fn is_misuse(self) -> bool {
        match self {
            Self::NoRoom | Self::Preface | Self::Idle => false,
            Self::Write
            | Self::Answer
            | Self::Refused
            | Self::Frames
            | Self::Streams
            | Self::Protocol => true,
        }
    }

    /// Its number, from one on.
    fn number(self) -> u8 {
        let place = Self::ALL.iter().position(|reason| *reason == self);
        place.and_then(|place| u8::try_from(place + 1).ok()).unwrap_or_default()
    }
}

/// What moves.
#[derive(Debug)]
struct Activity {
    /// Whether the client has said what it speaks.
    has_spoken: bool,
    /// Whether there was a request.
    has_asked: bool,
    /// Answers that are being worked on: whoever makes them is asked for more.
    working: usize,
    /// Since when nothing was worked on.
    idle_since: Instant,
    /// Since when nothing that is sent is taken.
    blocked_since: Option<Instant>,
    streams: OpenStreams,
    draining_since: Option<Instant>,
}

/// See the module.
#[derive(Debug)]
pub struct ConnectionState {
    since: Instant,
    is_signed_in: AtomicBool,
    reason: AtomicU8,
    drain: CancellationToken,
    close: CancellationToken,
    activity: Mutex<Activity>,
}

impl ConnectionState {
    pub(super) fn new(now: Instant) -> Self {
        let activity = Activity {
            has_spoken: false,
            has_asked: false,
            working: 0,
            idle_since: now,
            blocked_since: None,
            streams: OpenStreams::default(),
            draining_since: None,
        };
        Self {
            since: now,
            is_signed_in: AtomicBool::new(false),
            reason: AtomicU8::new(0),
            drain: CancellationToken::new(),
            close: CancellationToken::new(),
            activity: Mutex::new(activity),
        }
    }

    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When it began.
    #[must_use]
    pub const fn since(&self) -> Instant {
        self.since
    }

    /// Whether there was a request.
    #[must_use]
    pub fn has_asked(&self) -> bool {
        self.activity().has_asked
    }

    /// Whether it belongs to a person or a device.
    #[must_use]
    pub fn is_signed_in(&self) -> bool {
        self.is_signed_in.load(Ordering::Relaxed)
    }

    pub(super) fn signed_in(&self) {
        self.is_signed_in.store(true, Ordering::Relaxed);
    }

    /// Ends it at once. The first reason stands.
    pub fn close(&self, reason: CloseReason) {
        let number = reason.number();
        let _ = self.reason.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
        self.close.cancel();
    }

    /// Why it was ended, where this side did.
    #[must_use]
    pub fn closed_for(&self) -> Option<CloseReason> {
        let place = usize::from(self.reason.load(Ordering::Relaxed)).checked_sub(1)?;
        CloseReason::ALL.get(place).copied()
    }

    /// Ready once it is to end at once.
    pub async fn closed(&self) {
        self.close.cancelled().await;
    }

    /// Ready once it is to take nothing new.
    pub async fn drained(&self) {
        self.drain.cancelled().await;
    }

    /// The client has said what it speaks.
    pub fn spoke(&self) {
        self.activity().has_spoken = true;
    }

    /// Lets the open streams take in what passes.
    pub(in crate::listen) fn with_streams<T>(&self, what: impl FnOnce(&mut OpenStreams) -> T) -> T {
        what(&mut self.activity().streams)
    }

    /// What was sent was taken, or was not.
    pub fn wrote(&self, is_blocked: bool, now: Instant) {
        let mut activity = self.activity();
        if !is_blocked {
            activity.blocked_since = None;
        } else if activity.blocked_since.is_none() {
            activity.blocked_since = Some(now);
        }
    }

    /// Somebody works on an answer from now on.
    pub(in crate::listen) fn works(&self) {
        let mut activity = self.activity();
        activity.has_asked = true;
        activity.working += 1;
    }

    /// Somebody does not any more: it has ended, or what there is of it has to be taken first.
    pub(in crate::listen) fn rests(&self, now: Instant) {
        let mut activity = self.activity();
        activity.working = activity.working.saturating_sub(1);
        activity.idle_since = now;
    }

    /// Ends it where something took too long.
    pub(super) fn check(&self, is_known: bool, now: Instant, limits: &ConnectionLimits) {
        let mut activity = self.activity();
        let passed = |since: Option<Instant>, most| {
            since.is_some_and(|since| now.saturating_duration_since(since) >= most)
        };
        let is_idle = activity.working == 0 && activity.streams.is_empty();
        let idle_since = is_idle.then_some(activity.idle_since);
        let most_idle = if is_known { limits.idle_known } else { limits.idle };
        let reason = if passed(activity.blocked_since, limits.write) {
            CloseReason::Write
        } else if activity.streams.silent(now, limits.answer) > activity.working {
            // Of each that nobody works on, the answer is there and is not taken.
            CloseReason::Answer
        } else if !activity.has_spoken && passed(Some(self.since), limits.preface) {
            CloseReason::Preface
        } else if passed(activity.draining_since, limits.drain) {
            CloseReason::Idle
        } else {
            if activity.draining_since.is_none() && passed(idle_since, most_idle) {
                // A request that is on its way is still told that it has to come again.
                activity.draining_since = Some(now);
                self.drain.cancel();
            }
            return;
        };
        drop(activity);
        self.close(reason);
    }
}
