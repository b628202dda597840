//! Aliases: the names that people gave to a tool with some of its arguments.

use orion_domain::UserName;
use serde::Serialize;
use serde_json::{Map, Value};

use super::columns::parsed;
use super::db::{AuditEvent, Batch, DecodeError, Durability, FromRow, Row, sql, values};
use super::{Store, StoreError};

/// The most aliases of one person.
pub const MAX_ALIASES: i64 = 64;

/// An alias of a person.
#[derive(Debug, Clone, PartialEq)]
pub struct AliasRow {
    /// Whose it is.
    pub user: UserName,
    /// Its name.
    pub name: String,
    /// The tool that it stands for, by its name or by an alias of the catalogue.
    pub tool: String,
    /// The arguments that it fills in.
    pub arguments: Map<String, Value>,
    /// When it was set, Unix milliseconds.
    pub set_at: i64,
}

impl FromRow for AliasRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            user: parsed(row, "user_name")?,
            name: row.get("name")?,
            tool: row.get("tool")?,
            arguments: super::columns::json(row, "arguments")?,
            set_at: row.get("set_at")?,
        })
    }
}

/// The audit event of an alias that was set or removed.
#[derive(Serialize)]
struct AliasEvent<'a> {
    user: &'a UserName,
    alias: &'a str,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a Map<String, Value>>,
}

impl Store {
    /// Stores an alias, in the place of an earlier one of that name, with its audit event. Returns `false` if the
    /// person has as many as one may have.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn set_alias(&self, alias: &AliasRow) -> Result<bool, StoreError> {
        let AliasRow { user, name, tool, arguments, set_at } = alias;
        let text = Value::Object(arguments.clone()).to_string();
        let insert = sql("INSERT INTO aliases (user_name, name, tool, arguments, set_at) \
             SELECT $1, $2, $3, $4, $5 WHERE (SELECT COUNT(*) FROM aliases \
             WHERE user_name = $1 AND name <> $2) < $6 ON CONFLICT (user_name, name) DO UPDATE \
             SET tool = $3, arguments = $4, set_at = $5")
        .with(values![user, name, tool, text, *set_at, MAX_ALIASES])
        .exactly(1);
        let body = AliasEvent { user, alias: name, tool, arguments: Some(arguments) };
        let event = AuditEvent::new(*set_at, "alias.set", String::new(), &body)?;
        let batch = Batch::new(Durability::Fsync).statement(insert).event(event);
        Ok(self.db().apply(batch).await?.is_done())
    }

    /// Removes an alias, with its audit event. Returns `false` if it is another one by now, or gone.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn remove_alias(&self, alias: &AliasRow, now: i64) -> Result<bool, StoreError> {
        let AliasRow { user, name, tool, arguments: _, set_at } = alias;
        let delete = sql("DELETE FROM aliases WHERE user_name = $1 AND name = $2 AND set_at = $3")
            .with(values![user, name, *set_at])
            .exactly(1);
        let body = AliasEvent { user, alias: name, tool, arguments: None };
        let event = AuditEvent::new(now, "alias.removed", String::new(), &body)?;
        let batch = Batch::new(Durability::Fsync).statement(delete).event(event);
        Ok(self.db().apply(batch).await?.is_done())
    }

    /// Returns the aliases of a person, by name.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn aliases(&self, user: &UserName) -> Result<Vec<AliasRow>, StoreError> {
        let text = "SELECT * FROM aliases WHERE user_name = $1 ORDER BY name";
        self.db().query(sql(text).bind(user)).await
    }

    /// Returns an alias of a person. `None` if there is none of that name.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn alias(&self, user: &UserName, name: &str) -> Result<Option<AliasRow>, StoreError> {
        let text = "SELECT * FROM aliases WHERE user_name = $1 AND name = $2";
        self.db().query_optional(sql(text).with(values![user, name])).await
    }
}
