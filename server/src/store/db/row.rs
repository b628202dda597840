//! Rows, and how their columns become values.

use std::fmt::Display;

use sqlx::sqlite::SqliteRow;
use sqlx::{ColumnIndex, Row as _};

use crate::store::StoreError;

/// A row that a statement returned.
#[derive(Debug)]
pub(in crate::store) struct Row(SqliteRow);

/// A column that does not hold what its type requires: the database was changed from outside.
#[derive(Debug, thiserror::Error)]
#[error("column {column}: {reason}")]
pub(in crate::store) struct DecodeError {
    column: String,
    reason: String,
}

impl DecodeError {
    /// Creates the error of a column.
    pub(in crate::store) fn new(column: &str, reason: impl Display) -> Self {
        Self { column: column.to_owned(), reason: reason.to_string() }
    }
}

impl From<DecodeError> for StoreError {
    fn from(error: DecodeError) -> Self {
        tracing::error!(%error, "the database is damaged");
        Self::Corrupt
    }
}

/// A value that is read from one column.
pub(in crate::store) trait FromColumn<'r>: Sized {
    /// Reads the column with this name or number.
    fn from_column<I: ColumnIndex<SqliteRow>>(
        row: &'r SqliteRow,
        column: I,
    ) -> Result<Self, sqlx::Error>;
}

macro_rules! columns {
    ($($kind:ty),+) => {
        $(
            impl<'r> FromColumn<'r> for $kind {
                fn from_column<I: ColumnIndex<SqliteRow>>(
                    row: &'r SqliteRow,
                    column: I,
                ) -> Result<Self, sqlx::Error> {
                    row.try_get(column)
                }
            }

            impl<'r> FromColumn<'r> for Option<$kind> {
                fn from_column<I: ColumnIndex<SqliteRow>>(
                    row: &'r SqliteRow,
                    column: I,
                ) -> Result<Self, sqlx::Error> {
                    row.try_get(column)
                }
            }
        )+
    };
}
columns!(bool, u8, u16, u32, i64, String, Vec<u8>, &'r str, &'r [u8]);

impl Row {
    /// Wraps a row of the engine.
    pub(super) const fn new(row: SqliteRow) -> Self {
        Self(row)
    }

    /// Reads the column with this name.
    pub(in crate::store) fn get<'r, T: FromColumn<'r>>(
        &'r self,
        column: &str,
    ) -> Result<T, DecodeError> {
        T::from_column(&self.0, column).map_err(|error| DecodeError::new(column, error))
    }

    /// Reads the column with this number, from 0.
    pub(in crate::store) fn at<'r, T: FromColumn<'r>>(
        &'r self,
        column: usize,
    ) -> Result<T, DecodeError> {
        T::from_column(&self.0, column)
            .map_err(|error| DecodeError::new(&column.to_string(), error))
    }
}

/// A value that is read from a row.
pub(in crate::store) trait FromRow: Sized {
    /// Reads the row.
    fn from_row(row: &Row) -> Result<Self, DecodeError>;
}

macro_rules! tuples {
    ($($name:ident $number:tt),+) => {
        impl<$($name: for<'r> FromColumn<'r>),+> FromRow for ($($name,)+) {
            fn from_row(row: &Row) -> Result<Self, DecodeError> {
                Ok(($(row.at($number)?,)+))
            }
        }
    };
}
tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);

/// Reads every row.
pub(super) fn each<T: FromRow>(rows: Vec<Row>) -> Result<Vec<T>, StoreError> {
    Ok(rows.iter().map(T::from_row).collect::<Result<_, _>>()?)
}

/// Reads the first row.
pub(super) fn first<T: FromRow>(rows: Vec<Row>) -> Result<Option<T>, StoreError> {
    Ok(rows.first().map(T::from_row).transpose()?)
}
