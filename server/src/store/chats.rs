//! Conversations: their owners and messages. Only the owner reads or continues a conversation.

use orion_domain::{ConversationId, TurnId, UserName};
use serde::Serialize;
use serde_json::Value;

use super::calls::CallRow;
use super::columns::{id_range, only, parsed, parsed_option};
use super::db::{AuditEvent, Batch, DecodeError, Durability, FromRow, Row, sql, values};
use super::{Store, StoreError};

/// How many messages are returned at most, the newest ones.
const MESSAGES: u32 = 500;

/// How many conversations are listed and searched, the newest ones.
const CHATS: u32 = 200;

const LISTED: &str = "SELECT id, created_at, last_at, NULL AS found, \
    (SELECT content_json FROM messages WHERE conversation_id = conversations.id \
    ORDER BY seq LIMIT 1) AS first \
    FROM conversations WHERE user_name = $1 \
    AND EXISTS (SELECT 1 FROM messages WHERE conversation_id = conversations.id) \
    ORDER BY last_at DESC LIMIT $2";

const FOUND: &str = "SELECT * FROM (SELECT id, created_at, last_at, \
    (SELECT content_json FROM messages WHERE conversation_id = newest.id \
    ORDER BY seq LIMIT 1) AS first, \
    (SELECT content_json FROM messages WHERE conversation_id = newest.id AND role <> 'tool' \
    AND content_json LIKE $4 ESCAPE '!' ORDER BY seq LIMIT 1) AS found \
    FROM (SELECT id, created_at, last_at FROM conversations WHERE user_name = $1 \
    ORDER BY last_at DESC LIMIT $3) AS newest) AS searched \
    WHERE found IS NOT NULL ORDER BY last_at DESC LIMIT $2";

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// The author: `user`, `assistant` or `tool`.
    pub role: String,
    /// The content, JSON.
    pub content: String,
    /// Unix milliseconds.
    pub at: i64,
    /// The turn that it belongs to. None where it is not known.
    pub turn: Option<TurnId>,
}

impl FromRow for MessageRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            role: row.get("role")?,
            content: row.get("content_json")?,
            at: row.get("at")?,
            turn: parsed_option(row, "turn_id")?,
        })
    }
}

/// A conversation of a person. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRow {
    /// Its id.
    pub id: ConversationId,
    /// When it began.
    pub created_at: i64,
    /// When its newest message was written.
    pub last_at: i64,
    /// The content of its first message, JSON. None if it has none.
    pub first: Option<String>,
    /// The content of the first message that was searched for, JSON. None if nothing was.
    pub found: Option<String>,
}

impl FromRow for ChatRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            id: parsed(row, "id")?,
            created_at: row.get("created_at")?,
            last_at: row.get("last_at")?,
            first: row.get("first")?,
            found: row.get("found")?,
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
        let event = AuditEvent::new(now, "conversation.created", String::new(), &body)?;
        let user = user.clone();
        self.db()
            .apply(
                Batch::new(Durability::Commit)
                    .statement(
                        sql("INSERT INTO conversations (id, user_name, created_at, last_at, \
                 has_language_model) VALUES ($1, $2, $3, $3, $4)")
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
        turn: TurnId,
        (role, content): (&str, &str),
        now: i64,
    ) -> Result<(), StoreError> {
        let (role, content) = (role.to_owned(), content.to_owned());
        self.db()
            .apply(
                Batch::new(Durability::Commit)
                    .statement(
                        sql("INSERT INTO messages (conversation_id, role, content_json, at, turn_id) \
                         VALUES ($1, $2, $3, $4, $5)")
                        .with(values![conversation, role, content, now, turn]),
                    )
                    .statement(
                        sql("UPDATE conversations SET last_at = $2 WHERE id = $1")
                            .with(values![conversation, now]),
                    ),
            )
            .await
            .map(drop)
    }

    /// Returns a person's conversations, the one with the newest message first. With `text`, only those of the
    /// newest 200 that hold it in a message of the person or of the model.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn chats(
        &self,
        user: &UserName,
        text: Option<&str>,
        most: u32,
    ) -> Result<Vec<ChatRow>, StoreError> {
        let most = most.min(CHATS);
        let Some(text) = text else {
            return self.db().query(sql(LISTED).with(values![user, most])).await;
        };
        // Messages are JSON: a text stands in them with its quotes and line ends escaped.
        let escaped = Value::from(text).to_string();
        let mut pattern = String::from("%");
        for c in escaped.trim_matches('"').chars() {
            if matches!(c, '%' | '_' | '!') {
                pattern.push('!');
            }
            pattern.push(c);
        }
        pattern.push('%');
        self.db().query(sql(FOUND).with(values![user, most, CHATS, pattern])).await
    }

    /// Returns the id of a person's conversation by the id or a prefix of it, or that of the one with the newest
    /// message if `id` is empty.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Ambiguous`] if several ids have this prefix.
    pub async fn find_chat(&self, user: &UserName, id: &str) -> Result<ConversationId, StoreError> {
        if id.is_empty() {
            let newest = self.chats(user, None, 1).await?;
            return newest.first().map(|chat| chat.id).ok_or(StoreError::NotFound);
        }
        let (from, to) = id_range(id).ok_or(StoreError::NotFound)?;
        let ids =
            sql("SELECT id FROM conversations WHERE id >= $1 AND id < $2 AND +user_name = $3 \
             LIMIT 2");
        let ids: Vec<(String,)> = self.db().query(ids.with(values![from, to, user])).await?;
        only(ids)?.0.parse().map_err(|_| StoreError::Corrupt)
    }

    /// Returns the calls of a turn of this person, by the turn's id or a prefix of it, oldest first; at most
    /// 1,000. Previews are left out.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Ambiguous`] if several ids have this prefix.
    pub async fn calls_of_turn(
        &self,
        user: &UserName,
        turn: &str,
    ) -> Result<Vec<CallRow>, StoreError> {
        let (from, to) = id_range(turn).ok_or(StoreError::NotFound)?;
        self.db().flush().await?;
        let calls = sql("SELECT * FROM calls WHERE turn_id >= $1 AND turn_id < $2 \
             AND +user_name = $3 AND NOT dry_run ORDER BY turn_id, id LIMIT 1000");
        let calls: Vec<CallRow> = self.db().query(calls.with(values![&from, &to, user])).await?;
        let Some(first) = calls.first() else {
            let said = sql("SELECT 1 FROM messages JOIN conversations \
                 ON conversations.id = messages.conversation_id \
                 WHERE conversations.user_name = $3 AND turn_id >= $1 AND turn_id < $2 LIMIT 1");
            let is_turn = self.db().exists(said.with(values![from, to, user])).await?;
            return if is_turn { Ok(calls) } else { Err(StoreError::NotFound) };
        };
        if calls.iter().any(|call| call.turn != first.turn) {
            return Err(StoreError::Ambiguous);
        }
        Ok(calls)
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

    /// Returns the newest messages of this person's conversation, oldest first: at least so many of them, from a
    /// message of the person on. At most 500: of a turn that is longer, its newest ones behind the person's
    /// message.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if this person has no such conversation.
    pub async fn newest_turns(
        &self,
        conversation: ConversationId,
        user: &UserName,
        least: u32,
    ) -> Result<Vec<MessageRow>, StoreError> {
        const NEWEST: &str = "SELECT role, content_json, at, turn_id FROM messages \
            WHERE conversation_id = $1 AND seq >= COALESCE((SELECT seq FROM messages \
            WHERE conversation_id = $1 AND role = 'user' AND seq <= (SELECT seq FROM messages \
            WHERE conversation_id = $1 ORDER BY seq DESC LIMIT 1 OFFSET $2) \
            ORDER BY seq DESC LIMIT 1), 0) ORDER BY seq DESC LIMIT $3";
        const SAID: &str = "SELECT role, content_json, at, turn_id FROM messages \
            WHERE conversation_id = $1 AND role = 'user' ORDER BY seq DESC LIMIT 1";
        if !self.owns_conversation(conversation, user).await? {
            return Err(StoreError::NotFound);
        }
        let newest = sql(NEWEST).with(values![conversation, least.saturating_sub(1), MESSAGES]);
        let mut messages: Vec<MessageRow> = self.db().query(newest).await?;
        if messages.iter().all(|message| message.role != "user") {
            messages.extend(self.db().query_optional(sql(SAID).bind(conversation)).await?);
        }
        messages.reverse();
        Ok(messages)
    }

    /// Returns the newest messages of this person's conversation, oldest first; at most 500.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if this person has no such conversation.
    pub async fn messages(
        &self,
        conversation: ConversationId,
        user: &UserName,
        most: u32,
    ) -> Result<Vec<MessageRow>, StoreError> {
        if !self.owns_conversation(conversation, user).await? {
            return Err(StoreError::NotFound);
        }
        let mut messages: Vec<MessageRow> = self
            .db()
            .query(
                sql("SELECT role, content_json, at, turn_id FROM messages WHERE conversation_id = $1 \
             ORDER BY seq DESC LIMIT $2")
                .bind(conversation)
                .bind(most.min(MESSAGES)),
            )
            .await?;
        messages.reverse();
        Ok(messages)
    }
}
