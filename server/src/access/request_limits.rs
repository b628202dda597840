//! Limits what one person may have in flight: the number of requests, and the bytes of their bodies. The
//! limit applies before a byte of a body is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashMap;
use orion_domain::{Caller, ErrorCode, Role, ToolError, UserName};

/// How many bytes of one person's requests are kept until they are answered. A viewer's requests are small.
const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;
const MAX_VIEWER_BODY_BYTES: usize = 1024 * 1024;

#[derive(Debug, Default)]
struct ActiveRequests {
    requests: usize,
    bytes: usize,
}

/// What every person has in flight.
#[derive(Debug)]
pub(super) struct RequestLimits {
    most: usize,
    people: Arc<DashMap<UserName, ActiveRequests>>,
}

impl RequestLimits {
    /// Creates limits of `most` requests for each person at once.
    pub(super) fn new(most: usize) -> Self {
        Self { most, people: Arc::default() }
    }

    /// Counts one more request of this person.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED`: the person has too many in flight.
    pub(super) fn begin(
        &self,
        Caller { user, role, .. }: &Caller,
    ) -> Result<RequestPermit, ToolError> {
        let mut person = self.people.entry(user.clone()).or_default();
        if person.requests >= self.most {
            return Err(exhausted(format!(
                "{user} has the maximum of {} requests in flight.",
                self.most
            )));
        }
        person.requests += 1;
        drop(person);
        let max_bytes = match role {
            Role::Viewer => MAX_VIEWER_BODY_BYTES,
            Role::Operator | Role::Admin => MAX_BODY_BYTES,
        };
        Ok(RequestPermit {
            user: user.clone(),
            bytes: AtomicUsize::new(0),
            max_bytes,
            people: Arc::clone(&self.people),
        })
    }
}

fn exhausted(message: String) -> ToolError {
    ToolError::new(ErrorCode::ResourceExhausted, message)
        .hint("wait for some to end, then try again")
}

/// One request in flight; dropped when its response has ended.
#[derive(Debug)]
pub struct RequestPermit {
    user: UserName,
    /// The bytes of this request that are kept. Changed only with the person's entry locked.
    bytes: AtomicUsize,
    max_bytes: usize,
    people: Arc<DashMap<UserName, ActiveRequests>>,
}

impl RequestPermit {
    /// Counts more bytes of this request's body, before they are kept.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED`: the person's requests have too many bytes together.
    pub fn take(&self, bytes: usize) -> Result<(), ToolError> {
        let Some(mut person) = self.people.get_mut(&self.user) else { return Ok(()) };
        let all = person.bytes.saturating_add(bytes);
        if all > self.max_bytes {
            return Err(exhausted(format!(
                "{} has the maximum of {} MiB of requests in flight.",
                self.user,
                self.max_bytes >> 20
            )));
        }
        person.bytes = all;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Releases the bytes of an answered request. The request itself stays in flight until the response was
    /// sent.
    pub fn release_bytes(&self) {
        if let Some(mut person) = self.people.get_mut(&self.user) {
            let bytes = self.bytes.swap(0, Ordering::Relaxed);
            person.bytes = person.bytes.saturating_sub(bytes);
        }
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        if let Some(mut person) = self.people.get_mut(&self.user) {
            person.requests = person.requests.saturating_sub(1);
            person.bytes = person.bytes.saturating_sub(*self.bytes.get_mut());
        }
        self.people.remove_if(&self.user, |_, person| person.requests == 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(name: &str, role: Role) -> Caller {
        Caller { user: name.parse().unwrap(), role, conversation: None }
    }

    #[test]
    fn a_person_has_so_many_requests_under_way_and_gets_them_back() {
        let shares = RequestLimits::new(2);
        let held = [
            shares.begin(&person("ann", Role::Operator)).unwrap(),
            shares.begin(&person("ann", Role::Operator)).unwrap(),
        ];
        let refused = shares.begin(&person("ann", Role::Operator)).unwrap_err();
        assert_eq!(refused.code, ErrorCode::ResourceExhausted);
        assert!(shares.begin(&person("bob", Role::Admin)).is_ok());
        drop(held);
        assert!(shares.begin(&person("ann", Role::Operator)).is_ok());
        assert!(shares.people.is_empty());
    }

    #[test]
    fn a_person_has_so_many_bytes_under_way_on_all_requests_together() {
        let shares = RequestLimits::new(9);
        let first = shares.begin(&person("ann", Role::Operator)).unwrap();
        let second = shares.begin(&person("ann", Role::Operator)).unwrap();
        first.take(MAX_BODY_BYTES - 1).unwrap();
        second.take(1).unwrap();
        assert_eq!(second.take(1).unwrap_err().code, ErrorCode::ResourceExhausted);
        shares.begin(&person("bob", Role::Admin)).unwrap().take(MAX_BODY_BYTES).unwrap();
        let viewer = shares.begin(&person("carol", Role::Viewer)).unwrap();
        viewer.take(MAX_VIEWER_BODY_BYTES).unwrap();
        assert!(viewer.take(1).is_err());
        drop(viewer);
        drop(first);
        second.take(MAX_BODY_BYTES - 1).unwrap();
        drop(second);
        assert!(shares.people.is_empty());
    }
}
