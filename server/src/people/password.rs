//! Hashes and checks passwords with Argon2id, a few at a time. An unknown name takes as long as a wrong
//! password.

use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash};
use tokio::sync::{Semaphore, oneshot};

use super::SignInError;
use crate::store::StoreError;

/// Minimum length of a password, in characters.
pub(super) const MIN_CHARS: usize = 12;
/// Maximum length of a password, in bytes.
pub(super) const MAX_BYTES: usize = 1024;
/// How many passwords may wait for a slot.
const MAX_WAITING: usize = 32;
/// Maximum time that a password waits for a slot.
const WAIT_TIMEOUT: Duration = Duration::from_secs(20);
/// Each password takes 19 MiB and a core. Half of the cores are left for other work.
static HASHING: LazyLock<HashSlots> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    HashSlots::new((cores / 2).clamp(1, 4), MAX_WAITING)
});

/// A hash whose password nobody knows.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$b3Jpb24tbm9ib2R5LXNhbHQ$IRuyv/2ztdwmvBwQgTwIWu9ShM2XWLqjT7w3U9TKSTM";

/// Hashes a new password.
///
/// # Errors
/// The password is too short or too long, or too many passwords are being checked.
pub async fn hash(password: String) -> Result<String, SignInError> {
    if password.chars().count() < MIN_CHARS || password.len() > MAX_BYTES {
        return Err(SignInError::Length);
    }
    let hash = HASHING.compute(move || {
        Argon2::default().hash_password(password.as_bytes()).map(|hash| hash.to_string())
    });
    hash.await?.map_err(|_| SignInError::Store(StoreError::Unavailable))
}

/// Compares a password with the stored hash, or with one that nothing matches, so that an unknown name takes
/// as long as a wrong password.
///
/// # Errors
/// [`SignInError::Busy`]: the password was not compared.
pub async fn verify(stored: Option<String>, password: String) -> Result<bool, SignInError> {
    if password.len() > MAX_BYTES {
        return Ok(false);
    }
    let known = stored.is_some();
    let matches = HASHING.compute(move || {
        let stored = stored.as_deref().unwrap_or(NOBODY);
        PasswordHash::new(stored)
            .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
    });
    Ok(matches.await? && known)
}

/// Slots for passwords that are computed, and for those that wait.
#[derive(Debug)]
struct HashSlots {
    slots: Arc<Semaphore>,
    waiting: Semaphore,
}

impl HashSlots {
    fn new(at_once: usize, waiting: usize) -> Self {
        Self { slots: Arc::new(Semaphore::new(at_once)), waiting: Semaphore::new(waiting) }
    }

    /// Computes in a slot, on a blocking thread. Work whose caller left before the start is skipped. Work
    /// that has started keeps its slot to the end, so that the limit is never exceeded.
    async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SignInError> {
        let waiting = self.waiting.try_acquire().map_err(|_| SignInError::Busy)?;
        let slot = tokio::time::timeout(WAIT_TIMEOUT, Arc::clone(&self.slots).acquire_owned());
        let slot = slot.await.ok().and_then(Result::ok).ok_or(SignInError::Busy)?;
        drop(waiting);
        let (answer, answered) = oneshot::channel();
        tokio::task::spawn_blocking(move || {
            if !answer.is_closed() {
                // The caller may have left.
                answer.send(work()).ok();
            }
            drop(slot);
        });
        answered.await.map_err(|_| SignInError::Store(StoreError::Unavailable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_unknown_name_is_checked_against_a_real_hash_and_never_let_in() {
        assert_eq!(verify(None, "whatever it is".to_owned()).await, Ok(false));
        let stored = hash("correct horse battery".to_owned()).await.unwrap();
        assert!(stored.starts_with("$argon2id$"), "{stored}");
        let right = verify(Some(stored.clone()), "correct horse battery".to_owned()).await;
        assert_eq!(right, Ok(true));
        assert_eq!(verify(Some(stored), "correct horse batteri".to_owned()).await, Ok(false));
    }

    #[tokio::test]
    async fn a_password_that_is_too_short_or_too_long_is_refused() {
        assert_eq!(hash("short".to_owned()).await, Err(SignInError::Length));
        assert_eq!(hash("ééééééé".to_owned()).await, Err(SignInError::Length));
        assert_eq!(hash("x".repeat(1025)).await, Err(SignInError::Length));
    }

    #[test]
    fn what_stands_in_for_an_unknown_name_costs_as_much_as_a_real_hash() {
        let real = Argon2::default().hash_password(b"x").unwrap();
        let nobody = PasswordHash::new(NOBODY).unwrap();
        assert_eq!(nobody.params, real.params);
        assert_eq!(nobody.algorithm, real.algorithm);
    }

    #[tokio::test]
    async fn what_nobody_waits_for_is_not_computed_and_what_was_begun_keeps_its_turn() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        use std::sync::mpsc;

        let (slots, begun) = (Arc::new(HashSlots::new(1, 2)), Arc::new(AtomicUsize::new(0)));
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(std::sync::Mutex::new(held));
        let login = || {
            let (slots, begun, held) = (Arc::clone(&slots), Arc::clone(&begun), Arc::clone(&held));
            tokio::spawn(async move {
                slots
                    .compute(move || {
                        begun.fetch_add(1, Ordering::SeqCst);
                        held.lock().unwrap().recv().ok();
                    })
                    .await
            })
        };
        let until = async |what: &dyn Fn() -> bool| {
            while !what() {
                tokio::task::yield_now().await;
            }
        };
        // The client of the running computation disconnects, and so do those of two that wait.
        let first = login();
        until(&|| begun.load(Ordering::SeqCst) == 1).await;
        let waiting = [login(), login()];
        until(&|| slots.waiting.available_permits() == 0).await;
        assert_eq!(login().await.unwrap(), Err(SignInError::Busy));
        first.abort();
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        until(&|| slots.waiting.available_permits() == 2).await;
        assert_eq!(slots.slots.available_permits(), 0, "another could be computed beside it");

        let last = login();
        release.send(()).unwrap();
        release.send(()).unwrap();
        assert_eq!(last.await.unwrap(), Ok(()));
        assert_eq!(begun.load(Ordering::SeqCst), 2);
    }
}
