//! Conversations: their owners and messages. Only the owner reads or continues a conversation.

use orion_domain::{ConversationId, UserName};
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _};

use super::writer::{Durability, Event};
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

impl FromRow<'_, SqliteRow> for MessageRow {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            role: row.try_get("role")?,
            content: row.try_get("content_json")?,
            at: row.try_get("at")?,
        })
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
        let event = Event::new(now, "conversation.created", String::new(), &body)?;
        let user = user.clone();
        self.write_one(Durability::Commit, move |tx| {
            Box::pin(async move {
                sqlx::query(
                    "INSERT INTO conversations (id, user_name, created_at) VALUES ($1, $2, $3)",
                )
                .bind(id.to_string())
                .bind(user.as_str())
                .bind(now)
                .execute(&mut tx.conn)
                .await?;
                tx.record(event);
                Ok(())
            })
        })
        .await
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
        self.write_one(Durability::Commit, move |tx| {
            Box::pin(async move {
                sqlx::query(
                    "INSERT INTO messages (conversation_id, role, content_json, at) \
                     VALUES ($1, $2, $3, $4)",
                )
                .bind(conversation.to_string())
                .bind(role)
                .bind(content)
                .bind(now)
                .execute(&mut tx.conn)
                .await?;
                Ok(())
            })
        })
        .await
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
        let own = sqlx::query("SELECT 1 FROM conversations WHERE id = $1 AND user_name = $2")
            .bind(conversation.to_string())
            .bind(user.as_str())
            .fetch_optional(self.reads())
            .await?;
        Ok(own.is_some())
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
        let mut messages: Vec<MessageRow> = sqlx::query_as(
            "SELECT role, content_json, at FROM messages WHERE conversation_id = $1 \
             ORDER BY seq DESC LIMIT $2",
        )
        .bind(conversation.to_string())
        .bind(MESSAGES)
        .fetch_all(self.reads())
        .await?;
        messages.reverse();
        Ok(messages)
    }
}
