//! The turns of chats: what each used of a model, and the model and assistant that a chat goes on with.

use orion_domain::{ConversationId, TurnId, UserName};

use super::columns::{parsed, unsigned};
use super::db::{Batch, DecodeError, Durability, FromRow, Row, Statement, sql, values};
use super::{Store, StoreError};

/// How many turns of a chat are returned, the newest ones.
const TURNS: i64 = 500;

/// A change of what a turn used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageChange {
    /// More tokens of requests.
    pub input_tokens: i64,
    /// More tokens of answers.
    pub output_tokens: i64,
    /// More tokens from the provider's cache.
    pub cached_tokens: i64,
    /// More cost, in billionths of the currency.
    pub cost_nanos: i64,
    /// Whether a part of what the turn used so far is estimated.
    pub is_estimated: bool,
}

/// What a turn used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRow {
    /// The turn.
    pub id: TurnId,
    /// The model that answered last.
    pub model: String,
    /// The tokens of its requests.
    pub input_tokens: u64,
    /// The tokens of its answers.
    pub output_tokens: u64,
    /// The tokens that came from the provider's cache.
    pub cached_tokens: u64,
    /// Whether a part is estimated.
    pub is_estimated: bool,
    /// The cost, in billionths of the currency.
    pub cost_nanos: u64,
}

impl FromRow for TurnRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            id: parsed(row, "id")?,
            model: row.get("model")?,
            input_tokens: unsigned(row, "input_tokens")?,
            output_tokens: unsigned(row, "output_tokens")?,
            cached_tokens: unsigned(row, "cached_tokens")?,
            is_estimated: row.get("is_estimated")?,
            cost_nanos: unsigned(row, "cost_nanos")?,
        })
    }
}

impl Store {
    /// Adds to what a turn used.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn add_usage(
        &self,
        place: (TurnId, ConversationId, &UserName),
        model: &str,
        change: UsageChange,
        now: i64,
    ) -> Result<(), StoreError> {
        let add = adding(place, model, change, now);
        self.db().apply(Batch::new(Durability::Commit).statement(add)).await.map(drop)
    }

    /// Returns what the newest 500 turns of a chat used, oldest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn turns(&self, chat: ConversationId) -> Result<Vec<TurnRow>, StoreError> {
        let turns = sql("SELECT * FROM turns WHERE conversation_id = $1 ORDER BY at DESC LIMIT $2");
        let mut turns: Vec<TurnRow> = self.db().query(turns.with(values![chat, TURNS])).await?;
        turns.reverse();
        Ok(turns)
    }

    /// Returns the model and the assistant that a chat goes on with.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn chosen(
        &self,
        chat: ConversationId,
    ) -> Result<(Option<String>, Option<String>), StoreError> {
        let chosen = sql("SELECT model, assistant FROM conversations WHERE id = $1").bind(chat);
        let rows = self.db().rows(chosen).await?;
        let Some(row) = rows.first() else { return Ok((None, None)) };
        Ok((row.get("model")?, row.get("assistant")?))
    }

    /// Sets the model and the assistant that a chat goes on with.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn choose(
        &self,
        chat: ConversationId,
        model: Option<&str>,
        assistant: Option<&str>,
    ) -> Result<(), StoreError> {
        let set = sql("UPDATE conversations SET model = $2, assistant = $3 WHERE id = $1");
        let batch =
            Batch::new(Durability::Commit).statement(set.with(values![chat, model, assistant]));
        self.db().apply(batch).await.map(drop)
    }
}

/// Returns the statement that adds to what a turn used.
pub(super) fn adding(
    (turn, conversation, user): (TurnId, ConversationId, &UserName),
    model: &str,
    change: UsageChange,
    now: i64,
) -> Statement {
    sql("INSERT INTO turns (id, conversation_id, user_name, model, at, input_tokens, \
         output_tokens, cached_tokens, is_estimated, cost_nanos) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         ON CONFLICT (id) DO UPDATE SET model = excluded.model, \
         input_tokens = turns.input_tokens + excluded.input_tokens, \
         output_tokens = turns.output_tokens + excluded.output_tokens, \
         cached_tokens = turns.cached_tokens + excluded.cached_tokens, \
         is_estimated = excluded.is_estimated, \
         cost_nanos = turns.cost_nanos + excluded.cost_nanos")
    .with(values![
        turn,
        conversation,
        user,
        model,
        now,
        change.input_tokens,
        change.output_tokens,
        change.cached_tokens,
        change.is_estimated,
        change.cost_nanos,
    ])
}
