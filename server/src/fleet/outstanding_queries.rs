//! Which calls a device was asked about on one stream and has not answered. Only of those its word is
//! taken that it never saw them.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use orion_domain::CallId;
use tokio::sync::Notify;

/// See the module.
#[derive(Debug, Default)]
pub struct OutstandingQueries {
    calls: Mutex<HashSet<CallId>>,
    heard: Notify,
    turn: tokio::sync::Mutex<()>,
}

impl OutstandingQueries {
    fn calls(&self) -> MutexGuard<'_, HashSet<CallId>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever goes through what is not settled holds this meanwhile, so that it is asked once at a time.
    pub async fn lock(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// The same, where nobody holds it.
    pub fn try_lock(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        self.turn.try_lock().ok()
    }

    /// Is about to be asked about these.
    pub(super) fn ask(&self, calls: &[CallId]) {
        self.calls().extend(calls);
    }

    /// Said something of a call, or cannot be asked. Tells whether it was asked about it and had said
    /// nothing.
    pub fn resolve(&self, call: CallId) -> bool {
        let was_asked = self.calls().remove(&call);
        if was_asked {
            self.heard.notify_waiters();
        }
        was_asked
    }

    /// Resolves when something was said of each of these.
    pub async fn all_resolved(&self, calls: &[CallId]) {
        loop {
            let mut heard = std::pin::pin!(self.heard.notified());
            // Before it is looked, so that no word falls in between.
            heard.as_mut().enable();
            let is_open = {
                let open = self.calls();
                calls.iter().any(|call| open.contains(call))
            };
            if !is_open {
                return;
            }
            heard.await;
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
