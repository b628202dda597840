//! Caches the identities of tokens that were looked up recently, and publishes every change of an account to
//! the open streams.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dashmap::DashMap;
use orion_domain::{Caller, Digest, UserName};
use tokio::sync::broadcast;

use super::{HeavyRequests, LoginThrottle, SignInLinks};
use crate::scope::TokenKind;

/// How long a looked-up token stays cached, in milliseconds. Changes by this backend take effect at once; the
/// limit is for changes by other processes.
const CACHE_TTL_MS: i64 = 5_000;
/// How many tokens are cached.
const MAX_CACHED: usize = 10_000;
/// How many changes a stream may lag behind; a stream that lags more ends.
const BACKLOG: usize = 256;

/// The caller of a request, and the token that it came with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The person, with their current role.
    pub caller: Caller,
    /// SHA-256 of the token.
    pub token: Digest,
    /// The token's kind and scopes.
    pub kind: TokenKind,
    /// When the token expires, in Unix milliseconds.
    pub expires_at: i64,
}

/// Why an open stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// The token was revoked or has expired.
    SignedOut,
    /// The person's role changed.
    RoleChanged,
}

/// A change of an account or a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A person's role changed.
    Role(UserName),
    /// An account was disabled, which ends its sessions and tokens.
    Disabled(UserName),
    /// A person's sessions ended, except the one named.
    Sessions(UserName, Option<Digest>),
    /// One token was revoked.
    Token(Digest),
}

impl Change {
    /// Returns why this change ends the streams of an identity. `None` where it does not.
    #[must_use]
    pub fn ends(&self, who: &Identity) -> Option<StreamEnd> {
        match self {
            Self::Role(user) => (*user == who.caller.user).then_some(StreamEnd::RoleChanged),
            Self::Disabled(user) => (*user == who.caller.user).then_some(StreamEnd::SignedOut),
            Self::Sessions(user, keep) => (*user == who.caller.user
                && who.kind == TokenKind::Session
                && *keep != Some(who.token))
            .then_some(StreamEnd::SignedOut),
            Self::Token(token) => (*token == who.token).then_some(StreamEnd::SignedOut),
        }
    }
}

/// Waits until an identity's token ends or its role changes. `changes` must be subscribed before the token is
/// looked up at `now` (Unix milliseconds), so that no change is missed.
pub async fn ended(
    identity: Identity,
    mut changes: broadcast::Receiver<Change>,
    now: i64,
) -> StreamEnd {
    let left = u64::try_from(identity.expires_at - now).unwrap_or(0);
    let changed = async {
        loop {
            match changes.recv().await {
                Ok(change) => {
                    if let Some(ending) = change.ends(&identity) {
                        return ending;
                    }
                }
                // The missed changes are unknown, so the stream ends.
                Err(_) => return StreamEnd::RoleChanged,
            }
        }
    };
    tokio::select! {
        ending = changed => ending,
        () = tokio::time::sleep(Duration::from_millis(left)) => StreamEnd::SignedOut,
    }
}

#[derive(Debug)]
struct CachedIdentity {
    identity: Identity,
    at: i64,
    epoch: u64,
}

/// The cached identities, with the limits that belong to people.
#[derive(Debug)]
pub struct IdentityCache {
    /// The limit on wrong passwords.
    pub tries: LoginThrottle,
    /// The limit on requests that read or evaluate much.
    pub heavy: HeavyRequests,
    /// The unused links that sign a person in to the page.
    pub links: SignInLinks,
    remembered: DashMap<Digest, CachedIdentity>,
    /// Number of changes so far. An entry from an earlier epoch is not used, so that a lookup that a change
    /// overtook is not cached past it.
    epoch: AtomicU64,
    changes: broadcast::Sender<Change>,
}

impl Default for IdentityCache {
    fn default() -> Self {
        Self {
            tries: LoginThrottle::default(),
            heavy: HeavyRequests::default(),
            links: SignInLinks::default(),
            remembered: DashMap::new(),
            epoch: AtomicU64::new(0),
            changes: broadcast::channel(BACKLOG).0,
        }
    }
}

impl IdentityCache {
    /// Publishes a change that is stored already.
    pub fn changed(&self, change: Change) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        // Sending fails only where no stream is open.
        let _ = self.changes.send(change);
    }

    /// Subscribes to the changes from now on.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// Returns the current epoch; read it before a token is looked up.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Returns the identity of a token that was looked up recently, if nothing changed since.
    #[must_use]
    pub fn recall(&self, token: Digest, now: i64) -> Option<Identity> {
        let entry = self.remembered.get(&token)?;
        let good = entry.epoch == self.epoch()
            && now - entry.at < CACHE_TTL_MS
            && now < entry.identity.expires_at;
        good.then(|| entry.identity.clone())
    }

    /// Caches an identity that was looked up in this epoch.
    pub fn remember(&self, identity: Identity, epoch: u64, now: i64) {
        if self.remembered.len() >= MAX_CACHED {
            self.remembered.clear();
        }
        self.remembered.insert(identity.token, CachedIdentity { identity, at: now, epoch });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    use orion_domain::Role;

    fn identity(user: &str, kind: TokenKind) -> Identity {
        let caller =
            Caller { user: user.parse().unwrap(), role: Role::Operator, conversation: None };
        Identity { caller, token: Digest::of(user.as_bytes()), kind, expires_at: 10_000 }
    }

    #[test]
    fn what_was_looked_up_before_a_change_is_not_believed_after_it() {
        let people = IdentityCache::default();
        let bob = identity("bob", TokenKind::Session);
        people.remember(bob.clone(), people.epoch(), 0);
        assert_eq!(people.recall(bob.token, 1), Some(bob.clone()));
        assert_eq!(people.recall(bob.token, CACHE_TTL_MS), None);
        let overtaken = people.epoch();
        people.changed(Change::Role(bob.caller.user.clone()));
        assert_eq!(people.recall(bob.token, 1), None);
        people.remember(bob.clone(), overtaken, 1);
        assert_eq!(people.recall(bob.token, 1), None);
        people.remember(Identity { expires_at: 2, ..bob.clone() }, people.epoch(), 1);
        assert_eq!(people.recall(bob.token, 2), None);
    }

    #[test]
    fn a_change_ends_what_it_is_about_and_nothing_else() {
        let bob = identity("bob", TokenKind::Session);
        let ci = Identity {
            kind: TokenKind::Api(BTreeSet::new()),
            ..identity("bob", TokenKind::Session)
        };
        let user = || bob.caller.user.clone();
        let out = Some(StreamEnd::SignedOut);
        assert_eq!(Change::Role(user()).ends(&ci), Some(StreamEnd::RoleChanged));
        assert_eq!(Change::Disabled(user()).ends(&ci), out);
        assert_eq!(Change::Sessions(user(), None).ends(&bob), out);
        assert_eq!(Change::Sessions(user(), Some(bob.token)).ends(&bob), None);
        assert_eq!(Change::Sessions(user(), None).ends(&ci), None);
        assert_eq!(Change::Token(bob.token).ends(&bob), out);
        assert_eq!(Change::Disabled("ann".parse().unwrap()).ends(&bob), None);
    }
}
