//! One connection that writes. Each method is one command to the connection's thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::TryStreamExt as _;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection as _, Either, Executor as _};

use super::error::is_unmet;
use super::script::{EXPECTATION, Outcome, Script};
use super::sqlite::{bind, query};
use super::{Row, Statement, sql};
use crate::store::StoreError;

/// A connection that writes.
#[derive(Debug)]
pub(in crate::store) struct Connection {
    driver: SqliteConnection,
    /// How many commands its thread was given.
    commands: Arc<AtomicU64>,
}

/// Why a script stopped. The statements before it took effect, unless they are rolled back.
#[derive(Debug)]
pub(super) struct ScriptError {
    /// The number of the statement in the script, from 0.
    pub(super) statement: usize,
    /// Whether the statement before it did not change the rows that it must change.
    pub(super) is_unmet: bool,
    /// The error.
    pub(super) error: StoreError,
}

impl Connection {
    /// Prepares a connection to check expected rows.
    pub(super) async fn prepared(driver: SqliteConnection) -> Result<Self, StoreError> {
        let mut connection = Self { driver, commands: Arc::default() };
        sqlx::raw_sql(EXPECTATION).execute(&mut connection.driver).await?;
        Ok(connection)
    }

    /// Returns the connection of the driver.
    pub(super) const fn driver(&mut self) -> &mut SqliteConnection {
        &mut self.driver
    }

    /// Counts its commands where another connection did.
    pub(super) fn counting(mut self, commands: Arc<AtomicU64>) -> Self {
        self.commands = commands;
        self
    }

    /// Returns the counter of its commands.
    pub(super) fn count(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.commands)
    }

    /// Runs a statement and returns its rows.
    pub(super) async fn rows(&mut self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        self.commands.fetch_add(1, Ordering::Relaxed);
        let rows = query(statement).fetch_all(&mut self.driver).await?;
        Ok(rows.into_iter().map(Row::new).collect())
    }

    /// Runs a statement and returns how many rows it changed.
    pub(super) async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        self.commands.fetch_add(1, Ordering::Relaxed);
        Ok(query(statement).execute(&mut self.driver).await?.rows_affected())
    }

    /// Runs a text without values.
    pub(super) async fn command(&mut self, text: &'static str) -> Result<(), StoreError> {
        self.execute(sql(text)).await.map(drop)
    }

    /// Runs a script up to its end or its first error, as one command.
    pub(super) async fn run(&mut self, script: Script) -> Result<Vec<Outcome>, ScriptError> {
        self.commands.fetch_add(1, Ordering::Relaxed);
        let mut done = Vec::with_capacity(script.len);
        // Every part of the text was known when the program was built.
        let text = sqlx::query(AssertSqlSafe(script.text));
        let query = script.values.into_iter().fold(text, bind);
        let mut results = self.driver.fetch_many(query);
        let mut outcome = Outcome::default();
        loop {
            match results.try_next().await {
                Ok(None) => return Ok(done),
                Ok(Some(Either::Right(row))) => outcome.rows.push(Row::new(row)),
                Ok(Some(Either::Left(result))) => {
                    outcome.changed = result.rows_affected();
                    done.push(std::mem::take(&mut outcome));
                }
                Err(error) => {
                    let is_unmet = is_unmet(&error);
                    return Err(ScriptError {
                        statement: done.len(),
                        is_unmet,
                        error: error.into(),
                    });
                }
            }
        }
    }

    /// Closes the file.
    pub(super) async fn close(self) -> Result<(), StoreError> {
        Ok(self.driver.close().await?)
    }
}

#[cfg(test)]
impl Connection {
    /// Replaces the connection of the driver.
    pub(in crate::store) fn replace(&mut self, driver: SqliteConnection) {
        self.driver = driver;
    }
}
