//! Untrusted content in chats. A chat that has received such content keeps its labels; only a new chat has
//! none.

use orion_domain::{CallId, ContentRaise, ConversationId, Digest};
use serde::{Deserialize, Serialize};

use super::columns::{json, parsed};
use super::db::{DecodeError, Durability, FromRow, Row, sql, values};
use super::{Store, StoreError};

/// How many of the newest labels of a kind a chat keeps, besides the newest one of each device.
const LABELS: i64 = 50;

/// The origin of content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The call that returned it.
    pub call: CallId,
    /// The tool of that call.
    pub tool: String,
    /// The device that it came from.
    pub device: String,
    /// The path or address. Empty if there is none.
    pub place: String,
}

/// Content that came into a chat from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledContent {
    /// Its origin.
    pub label: Label,
    /// Who may have written it.
    pub voice: Authorship,
    /// Digests of the calls that occur in it.
    pub calls: Vec<Digest>,
    /// The content itself. None for that of a call, which is its result.
    pub text: Option<String>,
}

/// Who may have written the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authorship {
    /// Anybody: file contents, names, the output of programs.
    Untrusted,
    /// The device's own agent, or somebody who controls the device.
    Device,
}

/// How untrusted content may have influenced a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// The untrusted content that was in the chat.
    pub content: Vec<Label>,
    /// The names of the arguments whose text occurs in the content.
    pub occurs: Vec<String>,
    /// Whether the whole call occurs in the content.
    pub quoted: bool,
    /// Why the content raises the call, as far as the call alone does not show it.
    pub raises: Vec<ContentRaise>,
    /// The content that holds the text that the call writes.
    pub copied_from: Vec<Label>,
}

impl Provenance {
    /// Adds what may have influenced the call in another form.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.occurs.extend(other.occurs);
        self.occurs.sort();
        self.occurs.dedup();
        self.raises.extend(other.raises);
        self.raises.sort();
        self.raises.dedup();
        let new = |label: &Label| !self.copied_from.contains(label);
        let more: Vec<_> = other.copied_from.into_iter().filter(new).collect();
        self.copied_from.extend(more);
        Self { quoted: self.quoted || other.quoted, ..self }
    }
}

impl Provenance {
    /// Returns whether the chat has untrusted content.
    #[must_use]
    pub fn taint(&self) -> bool {
        !self.content.is_empty()
    }
}

impl FromRow for Label {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            call: parsed(row, "call_id")?,
            tool: row.get("tool")?,
            device: row.get("device")?,
            place: row.get("place")?,
        })
    }
}

impl FromRow for LabelledContent {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        let is_own: bool = row.get("is_own")?;
        Ok(Self {
            label: Label::from_row(row)?,
            voice: if is_own { Authorship::Device } else { Authorship::Untrusted },
            calls: json(row, "calls")?,
            text: row.get("content")?,
        })
    }
}

impl Store {
    /// Labels a chat with content. What a call read again has one label, so that it displaces no other.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if there is no such chat.
    pub async fn label_content(
        &self,
        conversation: ConversationId,
        content: LabelledContent,
        now: i64,
    ) -> Result<(), StoreError> {
        let LabelledContent { label, voice, calls, text } = content;
        let is_own = voice == Authorship::Device;
        let calls = serde_json::to_string(&calls).map_err(|_| StoreError::Corrupt)?;
        self.write(Durability::Commit, move |tx| {
            Box::pin(async move {
                // The messages of a client are of no call, and each counts.
                if !label.call.uuid().is_nil() {
                    tx.execute(
                        sql("DELETE FROM content_labels WHERE conversation_id = $1 \
                         AND call_id = $2 AND is_own = $3")
                        .with(values![conversation, label.call, is_own]),
                    )
                    .await?;
                }
                tx.execute(
                    sql("INSERT INTO content_labels \
                     (conversation_id, call_id, tool, device, place, is_own, calls, at, content) \
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)")
                    .with(values![
                        conversation,
                        label.call,
                        label.tool,
                        label.device,
                        label.place,
                        is_own,
                        calls,
                        now,
                        text,
                    ]),
                )
                .await?;
                // A device with much content must not push out the labels of another device.
                tx.execute(
                    sql("DELETE FROM content_labels WHERE conversation_id = $1 AND is_own = $2 \
                     AND seq NOT IN (SELECT seq FROM content_labels \
                     WHERE conversation_id = $1 AND is_own = $2 ORDER BY seq DESC LIMIT $3) \
                     AND seq NOT IN (SELECT MAX(seq) FROM content_labels \
                     WHERE conversation_id = $1 AND is_own = $2 GROUP BY device)")
                    .with(values![conversation, is_own, LABELS]),
                )
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Returns the labelled content of a chat, oldest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn labelled_content(
        &self,
        conversation: ConversationId,
    ) -> Result<Vec<LabelledContent>, StoreError> {
        let labels = sql("SELECT * FROM content_labels WHERE conversation_id = $1 ORDER BY seq");
        self.db().query(labels.bind(conversation)).await
    }

    /// Returns the envelope of a call's result, JSON. None for a call without one.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn result_of(&self, call: CallId) -> Result<Option<Vec<u8>>, StoreError> {
        let rows = self.db().rows(sql("SELECT result FROM calls WHERE id = $1").bind(call)).await?;
        let result = rows.first().map(|row| row.get::<Option<Vec<u8>>>("result")).transpose()?;
        Ok(result.flatten())
    }
}
