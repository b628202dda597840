//! Who is signed in at the moment: tokens that were looked up lately, and word of every change to
//! those who hold a stream open.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dashmap::DashMap;
use orion_domain::{Caller, Digest, UserName};
use tokio::sync::broadcast;

use super::{HeavyRequests, LoginThrottle, TokenKind};

/// How long a token that was looked up stays known without looking again, in milliseconds. Changes
/// that this backend makes count at once; this is for those that are made behind its back.
const REMEMBER_MS: i64 = 5_000;
/// How many tokens are remembered.
const REMEMBERED: usize = 10_000;
/// How many changes a stream may lag behind; one that lags more ends.
const BACKLOG: usize = 256;

/// Who makes a request, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The person, with the role they have by now.
    pub caller: Caller,
    /// The hash of the token.
    pub token: Digest,
    /// What the token is good for.
    pub kind: TokenKind,
    /// Until when, Unix milliseconds.
    pub expires_at: i64,
}

/// Why a stream that is open ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// The token is good no more.
    SignedOut,
    /// The person may do something else by now.
    RoleChanged,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Somebody's role.
    Role(UserName),
    /// All that stands for somebody has ended.
    Disabled(UserName),
    /// Somebody's sessions have ended, but for the one that is named.
    Sessions(UserName, Option<Digest>),
    /// One token has ended.
    Token(Digest),
}

impl Change {
    /// What it means for whoever is this.
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

/// Waits until what somebody came with ends. `changes` were subscribed to before the token was looked up
/// at `now` (Unix milliseconds), so that none is missed.
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
                // Nobody knows what was missed, so it is taken for the worst.
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

/// See the module.
#[derive(Debug)]
pub struct IdentityCache {
    /// How often passwords are tried.
    pub tries: LoginThrottle,
    /// Who has the backend read or judge much at the moment.
    pub heavy: HeavyRequests,
    remembered: DashMap<Digest, CachedIdentity>,
    /// Counts the changes. What was looked up under an earlier one is not believed, so that a
    /// look-up that a change overtook is not remembered past it.
    epoch: AtomicU64,
    changes: broadcast::Sender<Change>,
}

impl Default for IdentityCache {
    fn default() -> Self {
        Self {
            tries: LoginThrottle::default(),
            heavy: HeavyRequests::default(),
            remembered: DashMap::new(),
            epoch: AtomicU64::new(0),
            changes: broadcast::channel(BACKLOG).0,
        }
    }
}

impl IdentityCache {
    /// Tells everybody of a change that is on record.
    pub fn changed(&self, change: Change) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        // Nobody listening is no error: nobody has a stream open.
        let _ = self.changes.send(change);
    }

    /// Changes from this moment on.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// To be taken before a token is looked up.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Who holds a token, where it was looked up lately and nothing has changed since.
    #[must_use]
    pub fn recall(&self, token: Digest, now: i64) -> Option<Identity> {
        let entry = self.remembered.get(&token)?;
        let good = entry.epoch == self.epoch()
            && now - entry.at < REMEMBER_MS
            && now < entry.identity.expires_at;
        good.then(|| entry.identity.clone())
    }

    /// Keeps what was looked up in this epoch.
    pub fn remember(&self, identity: Identity, epoch: u64, now: i64) {
        if self.remembered.len() >= REMEMBERED {
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
        assert_eq!(people.recall(bob.token, REMEMBER_MS), None);
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
