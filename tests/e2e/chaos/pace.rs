//! How fast calls are made: so many at a time as the tormentor allows, so that each of its acts falls
//! among calls that are under way.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::watch;

/// See the module.
pub(super) struct Pace {
    total: usize,
    next: AtomicUsize,
    allowed: watch::Sender<usize>,
    ended: watch::Sender<usize>,
}

impl Pace {
    pub(super) fn new(total: usize) -> Self {
        Self {
            total,
            next: AtomicUsize::new(0),
            allowed: watch::Sender::new(0),
            ended: watch::Sender::new(0),
        }
    }

    /// The number of the next call, once it is allowed; none when all are given out.
    pub(super) async fn next(&self) -> Option<usize> {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        if number >= self.total {
            return None;
        }
        let mut allowed = self.allowed.subscribe();
        // The sender is this struct's own.
        drop(allowed.wait_for(|allowed| *allowed > number).await);
        Some(number)
    }

    /// Allows so many calls more.
    pub(super) fn allow(&self, more: usize) {
        self.allowed.send_modify(|allowed| *allowed += more);
    }

    /// Whether every call is allowed.
    pub(super) fn is_all_allowed(&self) -> bool {
        *self.allowed.borrow() >= self.total
    }

    /// One call came to an end, as far as its caller cares.
    pub(super) fn end(&self) {
        self.ended.send_modify(|ended| *ended += 1);
    }

    /// How many have.
    pub(super) fn ended(&self) -> usize {
        *self.ended.borrow()
    }

    /// Waits until so many have.
    pub(super) async fn until_ended(&self, count: usize) {
        drop(self.ended.subscribe().wait_for(|ended| *ended >= count).await);
    }
}
