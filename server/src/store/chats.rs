//! Conversations: their owners and messages. Only the owner reads or continues a conversation.

use orion_domain::{ConversationId, UserName};
use serde::Serialize;

use super::db::{AuditEvent, Batch, DecodeError, Durability, FromRow, Row, sql, values};
use super::{Store, StoreError};

/// How many messages are returned, the newest ones.
const MESSAGES: i64 = 500;

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// The author: `user`, `assistant` or `tool`.
    pub role: String,
    /// The content, JSON.
    pub content: String,
    /// Unix milliseconds.
    pub at: i64,
}

impl FromRow for MessageRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self { role: row.get("role")?, content: row.get("content_json")?, at: row.get("at")? })
    }
}

/// The audit event of a new conversation.
#[derive(Serialize)]
struct Created<'a> {
    conversation: ConversationId,
    user: &'a UserName,
}

impl Store {
    /// Creates a conversation.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the id is taken.
    pub async fn create_conversation(
        &self,
        id: ConversationId,
        user: &UserName,
        now: i64,
    ) -> Result<(), StoreError> {
        let body = Created { conversation: id, user };
        let event = AuditEvent::new(now, "conversation.created", String::new(), &body)?;
        let user = user.clone();
        self.db()
            .apply(
                Batch::new(Durability::Commit)
                    .statement(
                        sql("INSERT INTO conversations (id, user_name, created_at, has_language_model) \
                 VALUES ($1, $2, $3, $4)")
                        .with(values![id, user.as_str(), now, false]),
                    )
                    .event(event),
            )
            .await
            .map(drop)
    }

    /// Appends a message, JSON, of a `user`, an `assistant` or a `tool` to a conversation. Messages are not
    /// audited; the audit log has only actions.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if there is no such conversation, or no such role.
    pub async fn append_message(
        &self,
        conversation: ConversationId,
        role: &str,
        content: &str,
        now: i64,
    ) -> Result<(), StoreError> {
        let (role, content) = (role.to_owned(), content.to_owned());
        self.db()
            .apply(
                Batch::new(Durability::Commit).statement(
                    sql("INSERT INTO messages (conversation_id, role, content_json, at) \
                     VALUES ($1, $2, $3, $4)")
                    .with(values![conversation, role, content, now]),
                ),
            )
            .await
            .map(drop)
    }

    /// Returns whether a language model has taken part in a conversation, or nobody knows.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn has_language_model(
        &self,
        conversation: ConversationId,
    ) -> Result<bool, StoreError> {
        let without = sql("SELECT 1 FROM conversations WHERE id = $1 AND NOT has_language_model");
        Ok(!self.db().exists(without.bind(conversation)).await?)
    }

    /// Records that a language model takes part in a conversation.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn set_language_model(&self, conversation: ConversationId) -> Result<(), StoreError> {
        if self.has_language_model(conversation).await? {
            return Ok(());
        }
        let set = sql("UPDATE conversations SET has_language_model = $2 WHERE id = $1");
        let batch = Batch::new(Durability::Commit).statement(set.with(values![conversation, true]));
        self.db().apply(batch).await.map(drop)
    }

    /// Returns whether the conversation exists and belongs to this person.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn owns_conversation(
        &self,
        conversation: ConversationId,
        user: &UserName,
    ) -> Result<bool, StoreError> {
        self.db()
            .exists(
                sql("SELECT 1 FROM conversations WHERE id = $1 AND user_name = $2")
                    .bind(conversation)
                    .bind(user.as_str()),
            )
            .await
    }

    /// Returns the newest 500 messages of this person's conversation, oldest first.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if this person has no such conversation.
    pub async fn messages(
        &self,
        conversation: ConversationId,
        user: &UserName,
    ) -> Result<Vec<MessageRow>, StoreError> {
        if !self.owns_conversation(conversation, user).await? {
            return Err(StoreError::NotFound);
        }
        let mut messages: Vec<MessageRow> = self
            .db()
            .query(
                sql("SELECT role, content_json, at FROM messages WHERE conversation_id = $1 \
             ORDER BY seq DESC LIMIT $2")
                .bind(conversation)
                .bind(MESSAGES),
            )
            .await?;
        messages.reverse();
        Ok(messages)
    }
}
