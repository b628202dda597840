//! Limits requests that read or evaluate much: one at a time for a person, two in all. A request above the
//! limit is rejected instead of queued, so that none pile up.

use std::sync::{Arc, Mutex, PoisonError};

use orion_domain::{ErrorCode, ToolError, UserName};

/// Maximum number of heavy requests at once.
const MAX_REQUESTS: usize = 2;

/// The people whose heavy requests are in flight. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct HeavyRequests(Arc<Mutex<Vec<UserName>>>);

/// A heavy request in flight. Clones share it. It ends when the last clone is dropped: when the work ends, or
/// reaches its next stop after the client disconnected.
#[derive(Debug, Clone)]
pub struct HeavyRequest {
    _held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    user: UserName,
    under_way: Arc<Mutex<Vec<UserName>>>,
}

impl HeavyRequests {
    /// Starts a heavy request of this person.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` where the person has one in flight, or the backend as many as it runs at once.
    pub fn begin(&self, user: &UserName) -> Result<HeavyRequest, ToolError> {
        let mut under_way = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = |message: String| {
            let error = ToolError::new(ErrorCode::ResourceExhausted, message);
            Err(error.hint("try again in a minute"))
        };
        if under_way.contains(user) {
            return refused(format!(
                "{user} has a check, trial or review in flight, and each person may have one at a time."
            ));
        }
        if under_way.len() >= MAX_REQUESTS {
            return refused(format!(
                "The backend has the maximum of {MAX_REQUESTS} checks, trials or reviews in flight."
            ));
        }
        under_way.push(user.clone());
        let held = Held { user: user.clone(), under_way: Arc::clone(&self.0) };
        Ok(HeavyRequest { _held: Arc::new(held) })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.retain(|user| *user != self.user);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_has_one_turn_there_are_two_in_all_and_they_come_back() {
        let [ann, bob, admin] =
            ["ann", "bob", "admin"].map(|name| name.parse::<UserName>().unwrap());
        let heavy = HeavyRequests::default();
        let first = heavy.begin(&ann).unwrap();
        let again = heavy.begin(&ann).unwrap_err();
        assert_eq!(again.code, ErrorCode::ResourceExhausted);
        assert!(again.message.starts_with("ann has a check, trial or review"), "{again:?}");
        let second = heavy.begin(&bob).unwrap();
        let full = heavy.begin(&admin).unwrap_err();
        assert!(full.message.contains("maximum of 2 checks, trials or reviews"), "{full:?}");
        let shared = first.clone();
        drop(first);
        assert!(heavy.begin(&ann).is_err(), "a clone still holds it");
        drop(shared);
        let third = heavy.begin(&admin).unwrap();
        assert!(heavy.begin(&bob).is_err());
        drop((second, third));
        assert!(heavy.begin(&bob).is_ok());
    }
}
