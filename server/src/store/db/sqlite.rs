//! SQLite: how its files are opened and brought up to date, and the pool of readers.

use std::path::Path;
use std::time::Duration;

use sqlx::migrate::MigrateError;
use sqlx::query::Query;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePoolOptions,
};
use sqlx::{ConnectOptions as _, Sqlite, SqlitePool};

use super::checkpoint::MAX_LOG_PAGES;
use super::connection::Connection;
use super::migrations::MIGRATIONS;
use super::{Row, Statement, Value};
use crate::store::StoreError;

/// How long a statement waits for another process that holds a lock on the file.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The size of the pool of readers.
pub(in crate::store) const READERS: u32 = 4;
/// How long a read waits for a connection of the pool.
const READER_TIMEOUT: Duration = Duration::from_secs(10);

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .pragma("cache_size", "-16384")
        .pragma("temp_store", "MEMORY")
        .disable_statement_logging()
}

/// Opens a connection that writes.
pub(super) async fn writing(path: &Path) -> Result<Connection, StoreError> {
    let options = options(path)
        .journal_mode(SqliteJournalMode::Wal)
        .pragma("wal_autocheckpoint", MAX_LOG_PAGES);
    Connection::prepared(options.connect().await?).await
}

/// Opens a database that may not exist yet, and applies the migrations.
pub(super) async fn migrated(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = writing(path).await?;
    MIGRATIONS.run(connection.driver()).await.map_err(|error| {
        tracing::error!(%error, "the database's tables cannot be brought up to date");
        let other = matches!(
            error,
            MigrateError::VersionMissing(_)
                | MigrateError::VersionMismatch(_)
                | MigrateError::VersionTooNew(..)
        );
        if other { StoreError::OtherVersion } else { StoreError::Corrupt }
    })?;
    Ok(connection)
}

/// Opens a database read-only; another process may have it open.
pub(super) async fn read_only(path: &Path) -> Result<SqliteConnection, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging();
    Ok(options.connect().await?)
}

/// Returns a statement in the driver's form.
pub(super) fn query(statement: Statement) -> Query<'static, Sqlite, SqliteArguments> {
    statement.values.into_iter().fold(sqlx::query(statement.sql), bind)
}

/// Adds a value to a statement in the driver's form.
pub(super) fn bind(
    query: Query<'static, Sqlite, SqliteArguments>,
    value: Value,
) -> Query<'static, Sqlite, SqliteArguments> {
    match value {
        Value::Null => query.bind(None::<i64>),
        Value::Bool(value) => query.bind(value),
        Value::Integer(value) => query.bind(value),
        Value::Text(value) => query.bind(value),
        Value::Bytes(value) => query.bind(value),
    }
}

/// The pool of readers.
#[derive(Debug)]
pub(in crate::store) struct Reads(SqlitePool);

impl Reads {
    /// Creates the pool; connections are opened when they are needed.
    pub(super) fn of(path: &Path) -> Self {
        let pool = SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(READER_TIMEOUT)
            .test_before_acquire(false)
            .connect_lazy_with(options(path).pragma("query_only", "ON"));
        Self(pool)
    }

    /// Reads rows.
    pub(super) async fn rows(&self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        let rows = query(statement).fetch_all(&self.0).await?;
        Ok(rows.into_iter().map(Row::new).collect())
    }

    /// Reads the first row. None if there is none.
    pub(super) async fn row(&self, statement: Statement) -> Result<Option<Row>, StoreError> {
        Ok(query(statement).fetch_optional(&self.0).await?.map(Row::new))
    }

    /// Returns whether no reader is in use.
    pub(super) fn is_idle(&self) -> bool {
        self.0.num_idle() == self.0.size() as usize
    }

    /// Closes every connection.
    pub(super) async fn close(&self) {
        self.0.close().await;
    }

    /// Takes a reader out of the pool.
    #[cfg(test)]
    pub(in crate::store) async fn acquire(&self) -> sqlx::pool::PoolConnection<Sqlite> {
        self.0.acquire().await.unwrap()
    }
}
