//! One-time secrets that sign their person in to the page, made by a session of that person. They are kept in memory
//! alone, as digests, and are good for nothing once that session has ended.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use orion_domain::{Digest, UserName};
use serde_json::json;

use super::{IdentityCache, Issued, SESSION_MS, SignInError, random_secret, token_secret};
use crate::clock::now_ms;
use crate::listen::Source;
use crate::store::{LinkedSession, Store, TokenError};

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

    /// Returns the session that made a link, and leaves the link unused. None where it was used, has expired or never
    /// was.
    fn maker(&self, secret: &str, now: i64) -> Option<Digest> {
        let secret = Digest::of(secret.as_bytes());
        self.open(now).iter().find(|link| link.secret == secret).map(|link| link.session)
    }

    /// Uses a link, and returns the session that made it. None where it was used, has expired or never was.
    fn take(&self, secret: &str, now: i64) -> Option<Digest> {
        // Digests of random secrets: the time of a comparison tells nothing.
        let secret = Digest::of(secret.as_bytes());
        let mut open = self.open(now);
        let index = open.iter().position(|link| link.secret == secret)?;
        open.remove(index).map(|link| link.session)
    }
}

/// Returns whom a link would sign in, so that a browser can ask before it does. The link stays unused.
///
/// # Errors
/// The link is not valid, its session or account has ended, or the store failed.
pub async fn person_of_link(
    store: &Store,
    people: &IdentityCache,
    source: &Source,
    secret: &str,
) -> Result<UserName, SignInError> {
    let now = now_ms();
    let maker = match people.links.maker(secret, now) {
        Some(session) => store.token(session, now).await?,
        None => None,
    };
    match maker {
        Some((session, _)) => Ok(session.user),
        None => refuse(store, source, now).await,
    }
}

/// Signs the person of a link in, once, for no longer than the session that made the link.
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
    let Some(maker) = people.links.take(secret, now) else {
        return refuse(store, source, now).await;
    };
    let (token, hash) = token_secret();
    let (expires_at, source_name) = (now + SESSION_MS, source.to_string());
    let session = LinkedSession { hash, maker, expires_at, source: source_name };
    match store.create_linked_session(session, now).await {
        Ok(row) => Ok(Issued { token, expires_at: row.expires_at }),
        Err(TokenError::NoUser) => refuse(store, source, now).await,
        Err(error) => Err(error.into()),
    }
}

async fn refuse<T>(store: &Store, source: &Source, now: i64) -> Result<T, SignInError> {
    let body = json!({"link": true, "from": source.to_string()});
    store.audit_event("auth.failed", body, now).await?;
    Err(SignInError::Link)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ann() -> UserName {
        "ann".parse().unwrap()
    }

    fn session(name: &str) -> Digest {
        Digest::of(name.as_bytes())
    }

    #[test]
    fn a_link_is_good_once_and_for_a_quarter_of_an_hour() {
        let links = SignInLinks::default();
        let made = links.create(session("a"), &ann(), 0);
        assert_eq!(made.expires_at, LINK_MS);
        assert_eq!(links.take("x", 1), None);
        assert_eq!(links.maker("x", 1), None);
        // Asking whose it is does not use it.
        for _ in 0..2 {
            assert_eq!(links.maker(made.token.expose(), 1), Some(session("a")));
        }
        assert_eq!(links.take(made.token.expose(), 1), Some(session("a")));
        assert_eq!(links.take(made.token.expose(), 1), None);
        assert_eq!(links.maker(made.token.expose(), 1), None);
        let late = links.create(session("a"), &ann(), 0);
        assert_eq!(links.maker(late.token.expose(), LINK_MS), None);
        assert_eq!(links.take(late.token.expose(), LINK_MS), None);
    }

    #[test]
    fn a_person_has_few_links_and_others_keep_theirs() {
        let links = SignInLinks::default();
        let bob = links.create(session("b"), &"bob".parse().unwrap(), 0);
        let of_ann: Vec<_> =
            (0..=MAX_OF_PERSON).map(|_| links.create(session("a"), &ann(), 0)).collect();
        let good: Vec<_> =
            of_ann.iter().map(|it| links.take(it.token.expose(), 1).is_some()).collect();
        assert_eq!(good, [false, true, true, true, true]);
        assert_eq!(links.take(bob.token.expose(), 1), Some(session("b")));
    }
}
