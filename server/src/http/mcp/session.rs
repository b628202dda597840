//! The session of a token: all of its calls. What one of them read counts as untrusted content for the next ones, as in
//! a chat, for as long as the token is valid: nobody knows what the program that has the token remembers.

use orion_domain::{ConversationId, Digest};
use uuid::Builder;

use crate::clock::now_ms;
use crate::people::Identity;
use crate::store::{Store, StoreError};

/// Returns the conversation in which the calls of a token are recorded, on every replica and after every restart.
///
/// # Errors
/// The database cannot be read or written.
pub(super) async fn conversation(
    store: &Store,
    by: &Identity,
) -> Result<ConversationId, StoreError> {
    let id = id_of(by.token);
    if !store.owns_conversation(id, &by.caller.user).await? {
        match store.create_conversation(id, &by.caller.user, now_ms()).await {
            // Of two first calls at once, the second one finds what the first one created.
            Ok(()) | Err(StoreError::Conflict) => {}
            Err(error) => return Err(error),
        }
    }
    store.set_language_model(id).await?;
    Ok(id)
}

/// Returns the id of a token's session. It reveals nothing about the token.
fn id_of(token: Digest) -> ConversationId {
    let digest = Digest::of_fields("orion.mcp.session.v1", &[token.as_bytes()]);
    let mut bytes = [0; 16];
    for (byte, from) in bytes.iter_mut().zip(digest.as_bytes()) {
        *byte = *from;
    }
    ConversationId::new(Builder::from_custom_bytes(bytes).into_uuid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_one_session_and_no_two_tokens_share_theirs() {
        let of = |token: &str| id_of(Digest::of(token.as_bytes()));
        assert_eq!(of("a"), of("a"));
        assert_ne!(of("a"), of("b"));
        assert_eq!(of("a").to_string().as_bytes().get(14), Some(&b'8'), "{}", of("a"));
    }
}
