//! The session of a token: its calls within an hour of each other. What one of them read counts as untrusted content
//! for the next ones, as in a chat.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use orion_domain::{ConversationId, Digest};

use crate::clock::{new_uuid, now_ms};
use crate::people::Identity;
use crate::store::{Store, StoreError};

/// How long a token rests until its session is over, in milliseconds.
const IDLE_MS: i64 = 3_600_000;

/// The sessions by SHA-256 of their token.
#[derive(Debug, Clone, Default)]
pub(super) struct Sessions(Arc<Mutex<HashMap<Digest, Session>>>);

#[derive(Debug, Clone, Copy)]
struct Session {
    conversation: ConversationId,
    used_at: i64,
}

impl Sessions {
    /// Returns the conversation in which the calls of a token are recorded.
    pub(super) async fn of(
        &self,
        store: &Store,
        by: &Identity,
    ) -> Result<ConversationId, StoreError> {
        let now = now_ms();
        if let Some(conversation) = self.recall(by.token, now) {
            return Ok(conversation);
        }
        let conversation = ConversationId::new(new_uuid());
        store.create_conversation(conversation, &by.caller.user, now).await?;
        store.set_language_model(conversation).await?;
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Of two first calls at once, the second one has the session of the first.
        let session = sessions.entry(by.token).or_insert(Session { conversation, used_at: now });
        Ok(session.conversation)
    }

    fn recall(&self, token: Digest, now: i64) -> Option<ConversationId> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_alive = |session: &Session| now - session.used_at < IDLE_MS;
        if let Some(session) = sessions.get_mut(&token).filter(|session| is_alive(session)) {
            session.used_at = now;
            return Some(session.conversation);
        }
        // No more are kept than there are tokens in use.
        sessions.retain(|_, session| is_alive(session));
        None
    }
}
