//! Memories: the texts that people keep for later chats. Their words are in an index of SQLite's FTS5.

use orion_domain::{CallId, UserName};
use serde::Serialize;

use super::columns::{json, parsed};
use super::db::{
    Applied, AuditEvent, Batch, DecodeError, Durability, FromRow, Row, Statement, memory_words,
    sql, values,
};
use super::{LocalEffect, Store, StoreError};

/// The most memories of one person.
pub const MAX_MEMORIES: i64 = 1_000;
/// The most bytes of the texts and tags of one person's memories.
pub const MAX_MEMORY_BYTES: i64 = 1024 * 1024;

/// A memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryRow {
    /// The id of the call that wrote it.
    pub id: CallId,
    /// Whose it is.
    pub user: UserName,
    /// The text.
    pub text: String,
    /// The tags.
    pub tags: Vec<String>,
    /// Whether strangers may have written the text.
    pub untrusted: bool,
    /// When it was written, Unix milliseconds.
    pub created_at: i64,
    /// How well it matches the words that it was searched by, in thousandths; 0 without words.
    pub score: i64,
}

impl FromRow for MemoryRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            id: parsed(row, "id")?,
            user: parsed(row, "user_name")?,
            text: row.get("text")?,
            tags: json(row, "tags")?,
            untrusted: row.get("untrusted")?,
            created_at: row.get("created_at")?,
            score: row.get("score")?,
        })
    }
}

/// Which memories of a person.
#[derive(Debug, Clone, Default)]
pub struct MemoryFilter {
    /// The words, any of which a memory has. Without a word, the newest memories are meant.
    pub query: String,
    /// Tags that a memory has all of.
    pub tags: Vec<String>,
    /// Whether memories that strangers may have written are left out.
    pub trusted_only: bool,
    /// The most memories.
    pub limit: u32,
}

/// The audit event of a memory that its person forgets. The text is in the audit event of the call that wrote it.
#[derive(Serialize)]
struct MemoryForgotten<'a> {
    user: &'a UserName,
    memory: CallId,
}

impl Store {
    /// Stores a memory, with the effect of its call. Returns `false` if the person has no room for it.
    ///
    /// # Errors
    /// The database cannot be written, or the call has had its effect.
    pub async fn add_memory(
        &self,
        memory: &MemoryRow,
        effect: &LocalEffect,
    ) -> Result<bool, StoreError> {
        let MemoryRow { id, user, text, tags, untrusted, created_at, score: _ } = memory;
        let size: usize = text.len() + tags.iter().map(String::len).sum::<usize>();
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let tags = serde_json::to_string(tags).map_err(|_| StoreError::Corrupt)?;
        let insert = sql("INSERT INTO memories \
             (id, user_name, text, tags, size_bytes, untrusted, created_at) \
             SELECT $1, $2, $3, $4, $5, $6, $7 WHERE (SELECT COUNT(*) < $8 \
             AND COALESCE(SUM(size_bytes), 0) + $5 <= $9 FROM memories WHERE user_name = $2)")
        .with(values![*id, user, text, tags, size, *untrusted, *created_at])
        .with(values![MAX_MEMORIES, MAX_MEMORY_BYTES])
        .exactly(1);
        let batch = Batch::new(Durability::Fsync)
            .statement(insert)
            .statement(memory_words::index(*id))
            .statement(effect.statement());
        match self.db().apply(batch).await? {
            Applied::Done(_) => Ok(true),
            Applied::Unmet { statement: 0 } => Ok(false),
            Applied::Unmet { .. } => Err(StoreError::Conflict),
        }
    }

    /// Returns memories of a person: the best matches first, or the newest first where no word is given.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn memories(
        &self,
        user: &UserName,
        filter: &MemoryFilter,
    ) -> Result<Vec<MemoryRow>, StoreError> {
        let MemoryFilter { query, tags, trusted_only, limit } = filter;
        // Tags are compared here: a person has few memories.
        let most = if tags.is_empty() { i64::from(*limit) } else { MAX_MEMORIES };
        let statement =
            memory_words::search(user, query, *trusted_only, most).unwrap_or_else(|| {
                sql("SELECT *, 0 AS score FROM memories \
                 WHERE user_name = $1 AND NOT (untrusted AND $2) ORDER BY seq DESC LIMIT $3")
                .with(values![user, *trusted_only, most])
            });
        let mut found: Vec<MemoryRow> = self.db().query(statement).await?;
        found.retain(|memory| tags.iter().all(|tag| memory.tags.contains(tag)));
        found.truncate(usize::try_from(*limit).unwrap_or(usize::MAX));
        Ok(found)
    }

    /// Deletes the memory of a person whose id begins like this, with its audit event, and returns it.
    ///
    /// # Errors
    /// The database cannot be written, the person has no such memory, or several.
    pub async fn forget_memory(
        &self,
        user: &UserName,
        prefix: &str,
        now: i64,
    ) -> Result<MemoryRow, StoreError> {
        let find = sql("SELECT *, 0 AS score FROM memories \
             WHERE user_name = $1 AND substr(id, 1, length($2)) = $2 LIMIT 2")
        .with(values![user, prefix.to_ascii_lowercase()]);
        let mut found: Vec<MemoryRow> = self.db().query(find).await?;
        if found.len() > 1 {
            return Err(StoreError::Ambiguous);
        }
        let memory = found.pop().ok_or(StoreError::NotFound)?;
        let delete = sql("DELETE FROM memories WHERE id = $1").bind(memory.id).exactly(1);
        let body = MemoryForgotten { user, memory: memory.id };
        let event = AuditEvent::new(now, "memory.forgotten", String::new(), &body)?;
        let batch = Batch::new(Durability::Fsync)
            .statement(memory_words::remove(memory.id))
            .statement(delete)
            .event(event);
        self.db().apply(batch).await?.or(StoreError::NotFound)?;
        Ok(memory)
    }
}

/// Returns the statements that delete all memories of a person.
pub(super) fn forget_all(user: &UserName) -> [Statement; 2] {
    [memory_words::remove_all(user), sql("DELETE FROM memories WHERE user_name = $1").bind(user)]
}
