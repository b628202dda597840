//! Helpers that read columns as domain types.

use std::fmt::Display;
use std::str::FromStr;

use orion_domain::{Digest, Risk};
use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::StoreError;

fn unreadable(column: &str, error: impl Display) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: error.to_string().into() }
}

/// Reads a text column as a type that parses from text.
pub(super) fn parsed<T: FromStr<Err: Display>>(
    row: &SqliteRow,
    column: &str,
) -> Result<T, sqlx::Error> {
    row.try_get::<&str, _>(column)?.parse().map_err(|error| unreadable(column, error))
}

/// Reads a nullable text column as a type that parses from text.
pub(super) fn parsed_option<T: FromStr<Err: Display>>(
    row: &SqliteRow,
    column: &str,
) -> Result<Option<T>, sqlx::Error> {
    row.try_get::<Option<&str>, _>(column)?
        .map(|text| text.parse().map_err(|error| unreadable(column, error)))
        .transpose()
}

/// Reads a column of 32 bytes.
pub(super) fn digest(row: &SqliteRow, column: &str) -> Result<Digest, sqlx::Error> {
    Digest::from_slice(row.try_get::<&[u8], _>(column)?)
        .ok_or_else(|| unreadable(column, "not 32 bytes"))
}

/// Reads a nullable column of 32 bytes.
pub(super) fn digest_option(row: &SqliteRow, column: &str) -> Result<Option<Digest>, sqlx::Error> {
    row.try_get::<Option<&[u8]>, _>(column)?
        .map(|bytes| Digest::from_slice(bytes).ok_or_else(|| unreadable(column, "not 32 bytes")))
        .transpose()
}

/// Reads a JSON text column.
pub(super) fn json<T: DeserializeOwned>(row: &SqliteRow, column: &str) -> Result<T, sqlx::Error> {
    serde_json::from_str(row.try_get::<&str, _>(column)?).map_err(|error| unreadable(column, error))
}

/// Reads a nullable JSON text column.
pub(super) fn json_option<T: DeserializeOwned>(
    row: &SqliteRow,
    column: &str,
) -> Result<Option<T>, sqlx::Error> {
    row.try_get::<Option<&str>, _>(column)?
        .map(|text| serde_json::from_str(text).map_err(|error| unreadable(column, error)))
        .transpose()
}

/// Reads a count or a duration, which the database stores as a signed number.
pub(super) fn unsigned(row: &SqliteRow, column: &str) -> Result<u64, sqlx::Error> {
    u64::try_from(row.try_get::<i64, _>(column)?).map_err(|error| unreadable(column, error))
}

/// Reads a nullable column with a risk's name.
pub(super) fn risk_option(row: &SqliteRow, column: &str) -> Result<Option<Risk>, sqlx::Error> {
    let Some(text) = row.try_get::<Option<&str>, _>(column)? else { return Ok(None) };
    [Risk::Low, Risk::Medium, Risk::High, Risk::Critical]
        .into_iter()
        .find(|risk| risk.as_str() == text)
        .map(Some)
        .ok_or_else(|| unreadable(column, "not a risk"))
}

/// Returns a number that is never negative as the signed number that the database stores.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the half-open range of ids with this prefix, or `None` if no id can have it.
pub(super) fn id_range(text: &str) -> Option<(String, String)> {
    let id_like = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    (!text.is_empty() && text.len() <= 36 && text.bytes().all(id_like)).then(|| {
        let lower = text.to_ascii_lowercase();
        // `~` sorts after every character of an id.
        let upper = format!("{lower}~");
        (lower, upper)
    })
}

/// Returns the only row that matches an id prefix.
pub(super) fn only<T>(rows: Vec<T>) -> Result<T, StoreError> {
    let mut rows = rows.into_iter();
    match (rows.next(), rows.next()) {
        (Some(row), None) => Ok(row),
        (None, _) => Err(StoreError::NotFound),
        (Some(_), Some(_)) => Err(StoreError::Conflict),
    }
}
