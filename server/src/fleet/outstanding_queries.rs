//! The calls that a device was asked about on one stream and has not answered. A report that a call was never
//! seen is accepted only for these.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use orion_domain::CallId;
use tokio::sync::Notify;

/// The outstanding queries of one stream.
#[derive(Debug, Default)]
pub struct OutstandingQueries {
    calls: Mutex<HashSet<CallId>>,
    resolved: Notify,
    reconcile_lock: tokio::sync::Mutex<()>,
}

impl OutstandingQueries {
    fn calls(&self) -> MutexGuard<'_, HashSet<CallId>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the reconciliation of this link, so that calls are asked about once at a time.
    pub async fn lock(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.reconcile_lock.lock().await
    }

    /// Locks the reconciliation, if nobody holds the lock.
    pub fn try_lock(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        self.reconcile_lock.try_lock().ok()
    }

    /// Adds calls that the device is about to be asked about.
    pub(super) fn ask(&self, calls: &[CallId]) {
        self.calls().extend(calls);
    }

    /// Removes a call that the device answered or could not be asked about. Returns whether the call was
    /// outstanding.
    pub fn resolve(&self, call: CallId) -> bool {
        let was_asked = self.calls().remove(&call);
        if was_asked {
            self.resolved.notify_waiters();
        }
        was_asked
    }

    /// Waits until each of these calls was answered.
    pub async fn all_resolved(&self, calls: &[CallId]) {
        loop {
            let mut resolved = std::pin::pin!(self.resolved.notified());
            // Registered before the check, so that no answer is missed in between.
            resolved.as_mut().enable();
            let is_open = {
                let open = self.calls();
                calls.iter().any(|call| open.contains(call))
            };
            if !is_open {
                return;
            }
            resolved.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn a_word_of_a_call_counts_once_and_where_it_was_asked_about() {
        let asked = OutstandingQueries::default();
        let call = |n| CallId::new(Uuid::from_u128(n));
        assert!(!asked.resolve(call(1)));
        asked.ask(&[call(1), call(2)]);
        let all = [call(1), call(2)];
        let waiting = async { asked.all_resolved(&all).await };
        let saying = async {
            assert_eq!((asked.resolve(call(1)), asked.resolve(call(1))), (true, false));
            let soon = tokio::time::timeout(Duration::from_millis(1), asked.all_resolved(&all));
            assert!(soon.await.is_err());
            assert!(asked.resolve(call(2)));
        };
        tokio::join!(waiting, saying);
    }
}
