//! A statement with its values and the number of rows that it must change.

use super::Value;

/// How many rows a statement of a batch must change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum ExpectedRows {
    /// Any number.
    Any,
    /// This number; otherwise nothing of the batch is applied.
    Exactly(u32),
}

/// A statement and its values. The text is known when the program is built; `$1` is the first value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) struct Statement {
    /// The text.
    pub(super) sql: &'static str,
    /// The values, in the order of their numbers.
    pub(super) values: Vec<Value>,
    /// The rows that it must change.
    pub(super) rows: ExpectedRows,
}

/// Values of several parameters.
macro_rules! values {
    ($($value:expr),+ $(,)?) => {
        [$($crate::store::db::Value::from($value)),+]
    };
}
pub(in crate::store) use values;

/// Creates a statement without values.
pub(in crate::store) const fn sql(text: &'static str) -> Statement {
    Statement { sql: text, values: Vec::new(), rows: ExpectedRows::Any }
}

impl Statement {
    /// Adds the value of the next parameter.
    pub(in crate::store) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Adds the values of the next parameters.
    pub(in crate::store) fn with(mut self, values: impl IntoIterator<Item = Value>) -> Self {
        self.values.extend(values);
        self
    }

    /// Requires that the statement changes this number of rows.
    pub(in crate::store) const fn exactly(mut self, rows: u32) -> Self {
        self.rows = ExpectedRows::Exactly(rows);
        self
    }
}
