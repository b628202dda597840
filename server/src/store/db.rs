//! The database behind the store. This file and its folder alone name the driver and the dialect: the rest of
//! the store writes [`Statement`]s with values of its own and reads rows through [`FromRow`], so that another
//! engine can stand beside SQLite.
//!
//! [`Db::query`] reads, [`Db::apply`] writes a batch, [`Db::transact`] reads, decides and writes. No table is
//! named here but those of the audit chain, which the writer extends.

mod batch;
mod chain;
mod checkpoint;
mod connection;
mod error;
mod job;
pub(super) mod memory_words;
mod migrations;
mod row;
mod script;
mod snapshot;
mod sqlite;
mod statement;
mod value;
mod writer;

use std::path::Path;

use futures_util::future::BoxFuture;
use orion_domain::audit::AuditHead;
use tokio::sync::oneshot;

use super::StoreError;

pub(super) use batch::{Applied, AuditEvent, Batch, Durability};
pub(super) use chain::{HEAD, HeadRow};
pub(super) use row::{DecodeError, FromRow, Row};
pub(super) use snapshot::Snapshot;
pub use snapshot::{copy_file, newest_version};
pub(super) use statement::{Statement, sql, values};
pub(super) use value::Value;
pub(super) use writer::Tx;

#[cfg(test)]
pub(super) use self::{migrations::MIGRATIONS, script::EXPECTATION, sqlite::READERS};

use sqlite::Reads;
use writer::WriterHandle;

/// The database: many readers and one writer.
#[derive(Debug)]
pub(super) struct Db {
    reads: Reads,
    writer: WriterHandle,
}

impl Db {
    /// Opens the database, creates it if it does not exist, and applies the migrations.
    pub(super) async fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = sqlite::migrated(path).await?;
        let reads = Reads::of(path);
        let writer = WriterHandle::start(path, connection).await?;
        Ok(Self { reads, writer })
    }

    /// Reads rows from one snapshot. Does not wait for the writer.
    pub(super) async fn query<T: FromRow>(
        &self,
        statement: Statement,
    ) -> Result<Vec<T>, StoreError> {
        row::each(self.reads.rows(statement).await?)
    }

    /// Reads rows whose columns the caller decodes.
    pub(super) async fn rows(&self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        self.reads.rows(statement).await
    }

    /// Reads the first row. [`StoreError::NotFound`] if there is none.
    pub(super) async fn query_one<T: FromRow>(
        &self,
        statement: Statement,
    ) -> Result<T, StoreError> {
        self.query_optional(statement).await?.ok_or(StoreError::NotFound)
    }

    /// Reads the first row. None if there is none.
    pub(super) async fn query_optional<T: FromRow>(
        &self,
        statement: Statement,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.reads.row(statement).await?.as_ref().map(T::from_row).transpose()?)
    }

    /// Returns whether there is any row.
    pub(super) async fn exists(&self, statement: Statement) -> Result<bool, StoreError> {
        Ok(self.reads.row(statement).await?.is_some())
    }

    /// Applies all of a batch or nothing, with its audit entries: one command to the writer's thread.
    pub(super) async fn apply(&self, batch: Batch) -> Result<Applied, StoreError> {
        self.writer.apply(batch).await
    }

    /// Submits a batch that is committed with whatever comes next, at most 20 ms later. Batches and changes
    /// that are submitted afterwards take effect after it. The receiver gets the result.
    pub(super) async fn apply_later(
        &self,
        batch: Batch,
    ) -> Result<oneshot::Receiver<Result<Applied, StoreError>>, StoreError> {
        self.writer.apply_later(batch).await
    }

    /// Returns whether the last commit failed. Then nothing may be done before it is committed.
    pub(super) fn is_failing(&self) -> bool {
        self.writer.is_failing()
    }

    /// Waits until every batch that was submitted for later is committed.
    pub(super) async fn flush(&self) -> Result<(), StoreError> {
        if self.writer.has_deferred() {
            self.writer.apply(Batch::new(Durability::Commit)).await?;
        }
        Ok(())
    }

    /// Reads, then decides, then writes, in one transaction: a command to the writer's thread for each
    /// statement. Not for what every call does.
    pub(super) async fn transact<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.transact(durability, work).await
    }

    /// Returns the last audit entry that survives a power cut.
    pub(super) fn synced_head(&self) -> AuditHead {
        self.writer.synced_head()
    }

    /// Returns whether no read and no write is in progress.
    pub(super) fn is_at_rest(&self) -> bool {
        self.reads.is_idle() && self.writer.is_at_rest()
    }

    /// Commits what waits, moves everything into the main file and closes it. Later changes fail.
    pub(super) async fn close(&self) {
        self.reads.close().await;
        self.writer.close().await;
    }

    /// Returns how many commands the writer's thread was given, and how many groups it committed.
    #[cfg(test)]
    pub(super) fn crossings(&self) -> (u64, u64) {
        self.writer.crossings()
    }

    /// Returns the pool of readers.
    #[cfg(test)]
    pub(super) const fn reads(&self) -> &Reads {
        &self.reads
    }
}
