//! One-time secrets that sign their person in to the page, made by a session of that person. They are kept in memory
//! alone, as digests, and are good for nothing once that session has ended.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use orion_domain::{Digest, Secret, UserName};
use serde_json::json;

use super::{IdentityCache, Issued, SignInError, issue_session, random_secret};
use crate::clock::now_ms;
use crate::listen::Source;
use crate::store::Store;

/// How long a link is good, in milliseconds.
const LINK_MS: i64 = 15 * 60 * 1000;
/// How many unused links a person has; one more replaces the oldest.
const MAX_OF_PERSON: usize = 4;
/// How many unused links there are; one more replaces the oldest.
const MAX_LINKS: usize = 1_000;

#[derive(Debug)]
struct Link {
    secret: Digest,
    /// The session that made it.
    session: Digest,
    user: UserName,
    expires_at: i64,
}

/// The unused links, oldest first.
#[derive(Debug, Default)]
pub struct SignInLinks {
    open: Mutex<VecDeque<Link>>,
}

impl SignInLinks {
    fn open(&self, now: i64) -> MutexGuard<'_, VecDeque<Link>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|link| now < link.expires_at);
        open
    }

    /// Creates a link for the person of a session.
    #[must_use]
    pub fn create(&self, session: Digest, user: &UserName, now: i64) -> Issued {
        let token = random_secret();
        let (secret, expires_at) = (Digest::of(token.expose().as_bytes()), now + LINK_MS);
        let mut open = self.open(now);
        let of_person = open.iter().filter(|link| link.user == *user).count();
        if of_person >= MAX_OF_PERSON
            && let Some(oldest) = open.iter().position(|link| link.user == *user)
        {
            open.remove(oldest);
        }
        if open.len() >= MAX_LINKS {
            open.pop_front();
        }
        open.push_back(Link { secret, session, user: user.clone(), expires_at });
        Issued { token, expires_at }
    }

    /// Takes a link. None where it was used, has expired or never was.
    fn take(&self, secret: &Secret, now: i64) -> Option<Link> {
        // Digests of random secrets: the time of a comparison tells nothing.
        let secret = Digest::of(secret.expose().as_bytes());
        let mut open = self.open(now);
        let index = open.iter().position(|link| link.secret == secret)?;
        open.remove(index)
    }
}

/// Signs the person of a link in, once.
///
/// # Errors
/// The link is not valid, its session or account has ended, or the store failed.
pub async fn sign_in_by_link(
    store: &Store,
    people: &IdentityCache,
    source: &Source,
    secret: &str,
) -> Result<Issued, SignInError> {
    let now = now_ms();
    let link = people.links.take(&Secret::new(secret.to_owned()), now);
    let maker = match &link {
        Some(link) => store.token(link.session, now).await?,
        None => None,
    };
    let (Some(Link { user, .. }), Some(_)) = (link, maker) else {
        store
            .audit_event("auth.failed", json!({"link": true, "from": source.to_string()}), now)
            .await?;
        return Err(SignInError::Link);
    };
    let body = json!({"user": user, "from": source.to_string(), "link": true});
    store.audit_event("auth.signed_in", body, now).await?;
    issue_session(store, &user).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ann() -> UserName {
        "ann".parse().unwrap()
    }

    #[test]
    fn a_link_is_good_once_and_for_a_quarter_of_an_hour() {
        let links = SignInLinks::default();
        let made = links.create(Digest::ZERO, &ann(), 0);
        assert_eq!(made.expires_at, LINK_MS);
        assert!(links.take(&Secret::new("x".to_owned()), 1).is_none());
        assert_eq!(links.take(&made.token, 1).unwrap().user, ann());
        assert!(links.take(&made.token, 1).is_none());
        let late = links.create(Digest::ZERO, &ann(), 0);
        assert!(links.take(&late.token, LINK_MS).is_none());
    }

    #[test]
    fn a_person_has_few_links_and_others_keep_theirs() {
        let links = SignInLinks::default();
        let bob = links.create(Digest::ZERO, &"bob".parse().unwrap(), 0);
        let of_ann: Vec<_> =
            (0..=MAX_OF_PERSON).map(|_| links.create(Digest::ZERO, &ann(), 0)).collect();
        let good: Vec<_> = of_ann.iter().map(|it| links.take(&it.token, 1).is_some()).collect();
        assert_eq!(good, [false, true, true, true, true]);
        assert!(links.take(&bob.token, 1).is_some());
    }
}
