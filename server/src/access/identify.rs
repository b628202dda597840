//! Finds out whose session or token a request came with.

use orion_domain::{Caller, Digest};

use super::{AccessControl, AccessError};
use crate::clock::now_ms;
use crate::people::Identity;

/// Maximum length of a token, in bytes.
const MAX_TOKEN_BYTES: usize = 256;

/// Returns the token in the value of the header `authorization`. None if there is none that could be known.
fn token(authorization: &[u8]) -> Option<Digest> {
    let token = authorization.strip_prefix(b"Bearer ")?;
    (token.len() <= MAX_TOKEN_BYTES).then(|| Digest::of(token))
}

impl AccessControl {
    /// Returns the person of a session or token that is valid, and records that it was used.
    pub(super) async fn identify(
        &self,
        authorization: Option<&[u8]>,
    ) -> Result<Identity, AccessError> {
        let token = authorization.and_then(token).ok_or(AccessError::NotSignedIn)?;
        let now = now_ms();
        if let Some(identity) = self.people.recall(token, now) {
            return Ok(identity);
        }
        let epoch = self.people.epoch();
        let found = self.store.token(token, now).await.map_err(AccessError::Store)?;
        let (row, role) = found.ok_or(AccessError::NotSignedIn)?;
        if row.use_is_old(now) {
            let store = self.store.clone();
            self.tasks.background.spawn(async move {
                if let Err(error) = store.token_used(token, now).await {
                    tracing::warn!(%error, "the use of a token could not be recorded");
                }
            });
        }
        let caller = Caller { user: row.user, role, conversation: None };
        let identity = Identity { caller, token, kind: row.kind, expires_at: row.expires_at };
        self.people.remember(identity.clone(), epoch, now);
        Ok(identity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stands_behind_bearer_and_has_a_maximum_length() {
        assert_eq!(token(b"Bearer orion_x"), Some(Digest::of(b"orion_x")));
        assert_eq!(token(b"bearer orion_x"), None);
        assert_eq!(token(b"orion_x"), None);
        assert!(token(&[&b"Bearer "[..], &[b'x'; 256]].concat()).is_some());
        assert_eq!(token(&[&b"Bearer "[..], &[b'x'; 257]].concat()), None);
    }
}
