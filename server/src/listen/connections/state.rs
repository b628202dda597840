//! The state of one connection that decides whether the connection is kept.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::ConnectionLimits;
use crate::listen::frames::OpenStreams;

/// Why this side closed a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum CloseReason {
    /// A newer connection took its place, or no connection could be closed for it.
    #[error("there are too many of this address")]
    NoRoom,
    /// The client did not send the HTTP/2 preface, nor an HTTP/1.1 request.
    #[error("nothing was said at the beginning")]
    Preface,
    /// There was no request for too long.
    #[error("there was no request for a while")]
    Idle,
    /// The peer does not read what is sent.
    #[error("nothing of what was sent was read")]
    Write,
    /// The peer does not read its responses.
    #[error("answers were not taken")]
    Answer,
    /// Too many requests were rejected.
    #[error("too many requests were refused")]
    Refused,
    /// Too many frames had no content.
    #[error("too many frames carried nothing")]
    Frames,
    /// Too many streams were opened.
    #[error("too many streams were opened")]
    Streams,
    /// HTTP ended the connection, for a protocol error or a limit of its own.
    #[error("the rules of HTTP were not kept")]
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

    /// Returns whether an honest peer never causes this reason.
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

    /// Returns the reason's number, counted from one.
    fn number(self) -> u8 {
        let index = Self::ALL.iter().position(|reason| *reason == self);
        index.and_then(|index| u8::try_from(index + 1).ok()).unwrap_or_default()
    }
}

/// The parts of the state that change.
#[derive(Debug)]
struct Activity {
    /// Whether the client sent the HTTP/2 preface or a request.
    has_spoken: bool,
    /// Whether there was a request.
    has_asked: bool,
    /// Number of responses that the backend works on.
    working: usize,
    /// Since when the backend has worked on no response.
    idle_since: Instant,
    /// Since when the peer has read nothing that is sent. None where it reads.
    blocked_since: Option<Instant>,
    streams: OpenStreams,
    draining_since: Option<Instant>,
}

/// The state of one connection.
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

    /// Returns when the connection began.
    #[must_use]
    pub const fn since(&self) -> Instant {
        self.since
    }

    /// Returns whether there was a request.
    #[must_use]
    pub fn has_asked(&self) -> bool {
        self.activity().has_asked
    }

    /// Returns whether the connection belongs to a person or a device.
    #[must_use]
    pub fn is_signed_in(&self) -> bool {
        self.is_signed_in.load(Ordering::Relaxed)
    }

    pub(super) fn signed_in(&self) {
        self.is_signed_in.store(true, Ordering::Relaxed);
    }

    /// Closes the connection immediately. The first reason is kept.
    pub fn close(&self, reason: CloseReason) {
        let number = reason.number();
        let _ = self.reason.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
        self.close.cancel();
    }

    /// Returns why this side closed the connection. `None` where it did not.
    #[must_use]
    pub fn closed_for(&self) -> Option<CloseReason> {
        let index = usize::from(self.reason.load(Ordering::Relaxed)).checked_sub(1)?;
        CloseReason::ALL.get(index).copied()
    }

    /// Waits until the connection must be closed.
    pub async fn closed(&self) {
        self.close.cancelled().await;
    }

    /// Waits until the connection must accept no further requests.
    pub async fn drained(&self) {
        self.drain.cancelled().await;
    }

    /// Records that the client sent the HTTP/2 preface.
    pub fn spoke(&self) {
        self.activity().has_spoken = true;
    }

    /// Calls a function with the open streams.
    pub(in crate::listen) fn with_streams<T>(&self, what: impl FnOnce(&mut OpenStreams) -> T) -> T {
        what(&mut self.activity().streams)
    }

    /// Records whether the peer reads what is sent.
    pub fn wrote(&self, is_blocked: bool, now: Instant) {
        let mut activity = self.activity();
        if !is_blocked {
            activity.blocked_since = None;
        } else if activity.blocked_since.is_none() {
            activity.blocked_since = Some(now);
        }
    }

    /// Counts a response that the backend works on.
    pub(in crate::listen) fn works(&self) {
        let mut activity = self.activity();
        // HTTP/1.1 has no preface: its first request is as good.
        activity.has_spoken = true;
        activity.has_asked = true;
        activity.working += 1;
    }

    /// Stops counting a response: it has ended, or its frames must be sent first.
    pub(in crate::listen) fn rests(&self, now: Instant) {
        let mut activity = self.activity();
        activity.working = activity.working.saturating_sub(1);
        activity.idle_since = now;
    }

    /// Closes or drains the connection where a timeout is exceeded.
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
            // More streams are silent than the backend works on: a finished response is not read.
            CloseReason::Answer
        } else if !activity.has_spoken && passed(Some(self.since), limits.preface) {
            CloseReason::Preface
        } else if passed(activity.draining_since, limits.drain) {
            CloseReason::Idle
        } else {
            if activity.draining_since.is_none() && passed(idle_since, most_idle) {
                // Draining: a request that arrives now is still told to retry.
                activity.draining_since = Some(now);
                self.drain.cancel();
            }
            return;
        };
        drop(activity);
        self.close(reason);
    }
}
