//! Conversations: whose they are and what was said. Only their owner reads or continues them.

use orion_domain::{ConversationId, UserName};
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _};

use super::writer::{Durability, Event};
use super::{Store, StoreError};

/// How many messages are given back, the newest.
const MESSAGES: i64 = 500;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// Who speaks: `user`, `assistant` or `tool`.
    pub role: String,
    /// What, JSON.
    pub content: String,
    /// When, Unix milliseconds.
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

/// What the audit holds of a conversation that begins.
#[derive(Serialize)]
struct Created<'a> {
    conversation: ConversationId,
    user: &'a UserName,
}

impl Store {
    /// Begins a conversation.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] where the id is taken.
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

    /// Adds a message, JSON, of a `user`, an `assistant` or a `tool` to a conversation. The audit
    /// holds what is done, not what is said.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] where there is no such conversation, or no such role.
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

    /// Whether there is such a conversation and it is this person's.
    ///
    /// # Errors
    /// The record cannot be read.
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

    /// The newest 500 messages of this person's conversation, oldest first.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] where this person has no such conversation.
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
