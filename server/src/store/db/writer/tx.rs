//! What work does inside the group's transaction: it reads, writes and records audit entries.

use crate::store::StoreError;
use crate::store::db::connection::Connection;
use crate::store::db::{AuditEvent, FromRow, Row, Statement, row};

/// The connection inside the group's transaction, and the audit entries of its changes.
#[derive(Debug)]
pub(in crate::store) struct Tx {
    /// The connection.
    pub(in crate::store::db) conn: Connection,
    /// The audit entries of the changes so far.
    pub(super) events: Vec<AuditEvent>,
}

impl Tx {
    /// Adds an entry to the audit log, if the change succeeds.
    pub(in crate::store) fn record(&mut self, event: AuditEvent) {
        self.events.push(event);
    }

    /// Runs a statement and returns its rows.
    pub(in crate::store) async fn query<T: FromRow>(
        &mut self,
        statement: Statement,
    ) -> Result<Vec<T>, StoreError> {
        row::each(self.conn.rows(statement).await?)
    }

    /// Runs a statement and returns rows whose columns the caller decodes.
    pub(in crate::store) async fn rows(
        &mut self,
        statement: Statement,
    ) -> Result<Vec<Row>, StoreError> {
        self.conn.rows(statement).await
    }

    /// Runs a statement and returns its first row. [`StoreError::NotFound`] if there is none.
    pub(in crate::store) async fn query_one<T: FromRow>(
        &mut self,
        statement: Statement,
    ) -> Result<T, StoreError> {
        self.query_optional(statement).await?.ok_or(StoreError::NotFound)
    }

    /// Runs a statement and returns its first row. None if there is none.
    pub(in crate::store) async fn query_optional<T: FromRow>(
        &mut self,
        statement: Statement,
    ) -> Result<Option<T>, StoreError> {
        row::first(self.conn.rows(statement).await?)
    }

    /// Returns whether a statement returns any row.
    pub(in crate::store) async fn exists(
        &mut self,
        statement: Statement,
    ) -> Result<bool, StoreError> {
        Ok(!self.conn.rows(statement).await?.is_empty())
    }

    /// Runs a statement and returns how many rows it changed.
    pub(in crate::store) async fn execute(
        &mut self,
        statement: Statement,
    ) -> Result<u64, StoreError> {
        self.conn.execute(statement).await
    }
}

#[cfg(test)]
impl Tx {
    /// Loses the connection: another one takes its place.
    pub(in crate::store) fn lose(&mut self, driver: sqlx::sqlite::SqliteConnection) {
        self.conn.replace(driver);
    }
}
