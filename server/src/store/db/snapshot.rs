//! A database as a file: read without changing it while a backend may use it, and copied whole.

use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::migrations::MIGRATIONS;
use super::sqlite::{BUSY_TIMEOUT, query, read_only};
use super::{FromRow, Row, Statement, row, sql};
use crate::store::StoreError;

/// A read-only view of a database file as it was when the view was opened.
#[derive(Debug)]
pub(in crate::store) struct Snapshot(SqliteConnection);

impl Snapshot {
    /// Opens a file.
    pub(in crate::store) async fn open(path: &Path) -> Result<Self, StoreError> {
        let mut snapshot = Self(read_only(path).await?);
        query(sql("BEGIN")).execute(&mut snapshot.0).await?;
        Ok(snapshot)
    }

    /// Reads rows.
    pub(in crate::store) async fn query<T: FromRow>(
        &mut self,
        statement: Statement,
    ) -> Result<Vec<T>, StoreError> {
        row::each(self.rows(statement).await?)
    }

    /// Reads rows whose columns the caller decodes.
    pub(in crate::store) async fn rows(
        &mut self,
        statement: Statement,
    ) -> Result<Vec<Row>, StoreError> {
        let rows = query(statement).fetch_all(&mut self.0).await?;
        Ok(rows.into_iter().map(Row::new).collect())
    }

    /// Reads the first row. [`StoreError::NotFound`] if there is none.
    pub(in crate::store) async fn query_one<T: FromRow>(
        &mut self,
        statement: Statement,
    ) -> Result<T, StoreError> {
        row::first(self.rows(statement).await?)?.ok_or(StoreError::NotFound)
    }

    /// Returns what the engine reports as wrong with its file, at most 20 lines. Empty if nothing is.
    pub(in crate::store) async fn damage(&mut self) -> Result<Vec<String>, StoreError> {
        let lines: Vec<(String,)> = self.query(sql("PRAGMA integrity_check(20)")).await?;
        Ok(lines.into_iter().map(|(line,)| line).filter(|line| line != "ok").collect())
    }

    /// Returns rows that refer to rows that do not exist: the table, the row's number and the target.
    pub(in crate::store) async fn dangling(
        &mut self,
    ) -> Result<Vec<(String, Option<i64>, String)>, StoreError> {
        let rows: Vec<(String, Option<i64>, String, i64)> =
            self.query(sql("PRAGMA foreign_key_check")).await?;
        Ok(rows.into_iter().map(|(table, row, target, _)| (table, row, target)).collect())
    }

    /// Returns the newest schema migration in the file.
    pub(in crate::store) async fn version(&mut self) -> Result<i64, StoreError> {
        let (version,) =
            self.query_one(sql("SELECT COALESCE(max(version), 0) FROM _sqlx_migrations")).await?;
        Ok(version)
    }

    /// Closes the file.
    pub(in crate::store) async fn close(self) -> Result<(), StoreError> {
        Ok(self.0.close().await?)
    }
}

/// Copies a database as it is at this moment, whether or not a backend has it open, into a new file.
///
/// # Errors
/// The database does not exist, or the copy cannot be written.
pub async fn copy_file(record: &Path, to: &Path) -> Result<(), StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(record)
        .busy_timeout(BUSY_TIMEOUT)
        .pragma("query_only", "OFF");
    let mut connection = options.disable_statement_logging().connect().await?;
    let to = to.to_str().ok_or(StoreError::Unavailable)?;
    query(sql("VACUUM INTO $1").bind(to)).execute(&mut connection).await?;
    connection.close().await?;
    Ok(())
}

/// Returns the newest schema migration of this program.
#[must_use]
pub fn newest_version() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default()
}
