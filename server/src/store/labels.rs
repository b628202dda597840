//! Where content that strangers may have written came into a chat. Such a chat stays so: a new one
//! is clean.

use orion_domain::{CallId, ConversationId};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _};

use super::row::parsed;
use super::writer::Durability;
use super::{Store, StoreError};

/// How many labels a chat keeps, the newest.
const LABELS: i64 = 50;

/// Where content came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The call that brought it.
    pub call: CallId,
    /// The tool of that call.
    pub tool: String,
    /// The device it came from.
    pub device: String,
    /// The path or address; empty where there is none.
    pub place: String,
}

/// What strangers may have had to do with a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Strangers {
    /// The content of theirs that was in the chat.
    pub content: Vec<Label>,
    /// The arguments whose text occurs in it, by name.
    pub occurs: Vec<String>,
    /// Whether the whole call stands in it.
    pub quoted: bool,
}

impl Strangers {
    /// Whether there is any content of theirs in the chat.
    #[must_use]
    pub fn taint(&self) -> bool {
        !self.content.is_empty()
    }
}

impl FromRow<'_, SqliteRow> for Label {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            call: parsed(row, "call_id")?,
            tool: row.try_get("tool")?,
            device: row.try_get("device")?,
            place: row.try_get("place")?,
        })
    }
}

impl Store {
    /// Marks a chat as holding content from there.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] where there is no such chat.
    pub async fn label_content(
        &self,
        conversation: ConversationId,
        label: Label,
        now: i64,
    ) -> Result<(), StoreError> {
        self.write(Durability::Commit, move |tx| {
            Box::pin(async move {
                sqlx::query(
                    "INSERT INTO content_labels (conversation_id, call_id, tool, device, place, at) \
                     VALUES ($1, $2, $3, $4, $5, $6)",
                )
                .bind(conversation.to_string())
                .bind(label.call.to_string())
                .bind(label.tool)
                .bind(label.device)
                .bind(label.place)
                .bind(now)
                .execute(&mut tx.conn)
                .await?;
                sqlx::query(
                    "DELETE FROM content_labels WHERE conversation_id = $1 AND seq NOT IN \
                     (SELECT seq FROM content_labels WHERE conversation_id = $1 \
                     ORDER BY seq DESC LIMIT $2)",
                )
                .bind(conversation.to_string())
                .bind(LABELS)
                .execute(&mut tx.conn)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// The content of strangers in a chat, oldest first, each with its result's envelope.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn labelled_content(
        &self,
        conversation: ConversationId,
    ) -> Result<Vec<(Label, Vec<u8>)>, StoreError> {
        let rows = sqlx::query(
            "SELECT content_labels.*, calls.result FROM content_labels \
             JOIN calls ON calls.id = content_labels.call_id \
             WHERE content_labels.conversation_id = $1 ORDER BY seq",
        )
        .bind(conversation.to_string())
        .fetch_all(self.reads())
        .await?;
        rows.iter()
            .map(|row| {
                let result: Option<Vec<u8>> = row.try_get("result")?;
                Ok((Label::from_row(row)?, result.unwrap_or_default()))
            })
            .collect()
    }
}
