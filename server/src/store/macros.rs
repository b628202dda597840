//! Macros: calls that a person makes in order by one name.

use orion_catalog::tools::planned_call::PlannedCall;
use orion_domain::UserName;
use serde::Serialize;

use super::columns::{json, parsed};
use super::db::{
    Applied, AuditEvent, Batch, DecodeError, Durability, FromRow, Row, Statement, sql, values,
};
use super::{LocalEffect, Store, StoreError};

/// The most macros of one person.
pub const MAX_MACROS: i64 = 50;
/// The most bytes of the calls of one macro.
pub const MAX_MACRO_BYTES: usize = 64 * 1024;

/// A macro of a person.
#[derive(Debug, Clone, PartialEq)]
pub struct MacroRow {
    /// Whose it is.
    pub user: UserName,
    /// Its name.
    pub name: String,
    /// Its calls, in order.
    pub steps: Vec<PlannedCall>,
    /// The names of its parameters.
    pub parameters: Vec<String>,
    /// Whether somebody else may have written the calls.
    pub tainted: bool,
    /// When it was saved, Unix milliseconds.
    pub saved_at: i64,
}

impl FromRow for MacroRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            user: parsed(row, "user_name")?,
            name: row.get("name")?,
            steps: json(row, "steps")?,
            parameters: json(row, "parameters")?,
            tainted: row.get("tainted")?,
            saved_at: row.get("saved_at")?,
        })
    }
}

/// The audit event of a macro that its person removes.
#[derive(Serialize)]
struct MacroRemoved<'a> {
    user: &'a UserName,
    name: &'a str,
}

impl Store {
    /// Stores a macro in the place of an earlier one of that name, with the effect of its call. Returns `false` if the
    /// person has as many as one may have.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn save_macro(
        &self,
        row: &MacroRow,
        effect: &LocalEffect,
    ) -> Result<bool, StoreError> {
        let MacroRow { user, name, steps, parameters, tainted, saved_at } = row;
        let steps = serde_json::to_string(steps).map_err(|_| StoreError::Corrupt)?;
        let parameters = serde_json::to_string(parameters).map_err(|_| StoreError::Corrupt)?;
        let insert =
            sql("INSERT INTO macros (user_name, name, steps, parameters, tainted, saved_at) \
             SELECT $1, $2, $3, $4, $5, $6 WHERE (SELECT COUNT(*) FROM macros \
             WHERE user_name = $1 AND name <> $2) < $7 ON CONFLICT (user_name, name) DO UPDATE \
             SET steps = $3, parameters = $4, tainted = $5, saved_at = $6")
            .with(values![user, name, steps, parameters, *tainted, *saved_at, MAX_MACROS])
            .exactly(1);
        let batch = Batch::new(Durability::Fsync).statement(insert).statement(effect.statement());
        match self.db().apply(batch).await? {
            Applied::Done(_) => Ok(true),
            Applied::Unmet { statement: 0 } => Ok(false),
            Applied::Unmet { .. } => Err(StoreError::Conflict),
        }
    }

    /// Returns the macros of a person, by name.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn macros(&self, user: &UserName) -> Result<Vec<MacroRow>, StoreError> {
        let text = "SELECT * FROM macros WHERE user_name = $1 ORDER BY name";
        self.db().query(sql(text).bind(user)).await
    }

    /// Returns a macro of a person. `None` if there is none of that name.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn find_macro(
        &self,
        user: &UserName,
        name: &str,
    ) -> Result<Option<MacroRow>, StoreError> {
        let text = "SELECT * FROM macros WHERE user_name = $1 AND name = $2";
        self.db().query_optional(sql(text).with(values![user, name])).await
    }

    /// Removes a macro, with its audit event. Returns `false` if it is another one by now, or gone.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn remove_macro(&self, row: &MacroRow, now: i64) -> Result<bool, StoreError> {
        let MacroRow { user, name, saved_at, .. } = row;
        let delete = sql("DELETE FROM macros WHERE user_name = $1 AND name = $2 AND saved_at = $3")
            .with(values![user, name, *saved_at])
            .exactly(1);
        let body = MacroRemoved { user, name };
        let event = AuditEvent::new(now, "macro.removed", String::new(), &body)?;
        let batch = Batch::new(Durability::Fsync).statement(delete).event(event);
        Ok(self.db().apply(batch).await?.is_done())
    }
}

/// Returns the statement that deletes all macros of a person.
pub(super) fn delete_all(user: &UserName) -> Statement {
    sql("DELETE FROM macros WHERE user_name = $1").bind(user)
}
