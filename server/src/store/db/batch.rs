//! A batch: statements that take effect together, with the audit entries that say so.

use serde::Serialize;

use super::{Row, Statement};
use crate::store::StoreError;

/// What an answered change survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store) enum Durability {
    /// The end of the process, even a crash; a power cut may lose the last second.
    Commit,
    /// A power cut as well.
    Fsync,
}

/// A new entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) struct AuditEvent {
    /// Unix milliseconds.
    pub(super) at: i64,
    /// The kind of event.
    pub(super) kind: &'static str,
    /// The call's id. Empty if the event is not about a call.
    pub(super) call_id: String,
    /// The body, a JSON object.
    pub(super) body: String,
}

impl AuditEvent {
    /// Creates an event and serializes its body.
    pub(in crate::store) fn new(
        at: i64,
        kind: &'static str,
        call_id: String,
        body: &impl Serialize,
    ) -> Result<Self, StoreError> {
        // Plain structs of text and numbers always serialize; a failure must not go unrecorded.
        let body = serde_json::to_string(body).map_err(|_| StoreError::Corrupt)?;
        Ok(Self { at, kind, call_id, body })
    }
}

/// Statements that take effect together or not at all, and their audit entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) struct Batch {
    /// The statements, in order.
    pub(super) statements: Vec<Statement>,
    /// The audit entries, in order.
    pub(super) events: Vec<AuditEvent>,
    /// What the batch survives once it is answered.
    pub(super) durability: Durability,
}

impl Batch {
    /// Creates an empty batch.
    pub(in crate::store) const fn new(durability: Durability) -> Self {
        Self { statements: Vec::new(), events: Vec::new(), durability }
    }

    /// Adds a statement.
    pub(in crate::store) fn statement(mut self, statement: Statement) -> Self {
        self.statements.push(statement);
        self
    }

    /// Adds an audit entry.
    pub(in crate::store) fn event(mut self, event: AuditEvent) -> Self {
        self.events.push(event);
        self
    }
}

/// The result of a batch.
#[derive(Debug)]
pub(in crate::store) enum Applied {
    /// Everything is committed. The rows are those that the statements returned, in order.
    Done(Vec<Row>),
    /// A statement did not change the rows that it must change, and nothing was applied.
    Unmet {
        /// The statement's number in the batch, from 0.
        statement: usize,
    },
}

impl Applied {
    /// Returns whether the batch was applied.
    pub(in crate::store) const fn is_done(&self) -> bool {
        matches!(self, Self::Done(_))
    }

    /// Turns an unmet expectation into an error.
    pub(in crate::store) fn or(self, error: StoreError) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::Done(rows) => Ok(rows),
            Self::Unmet { statement } => {
                tracing::debug!(statement, %error, "the database holds something else");
                Err(error)
            }
        }
    }
}
