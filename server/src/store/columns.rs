//! Helpers that read columns as domain types.

use std::fmt::Display;
use std::str::FromStr;

use orion_domain::{Digest, ErrorCode, Risk};
use serde::de::DeserializeOwned;

use super::StoreError;
use super::db::{DecodeError, Row};

/// Reads a text column as a type that parses from text.
pub(super) fn parsed<T: FromStr<Err: Display>>(row: &Row, column: &str) -> Result<T, DecodeError> {
    row.get::<&str>(column)?.parse().map_err(|error| DecodeError::new(column, error))
}

/// Reads a nullable text column as a type that parses from text.
pub(super) fn parsed_option<T: FromStr<Err: Display>>(
    row: &Row,
    column: &str,
) -> Result<Option<T>, DecodeError> {
    row.get::<Option<&str>>(column)?
        .map(|text| text.parse().map_err(|error| DecodeError::new(column, error)))
        .transpose()
}

/// Reads a column of 32 bytes.
pub(super) fn digest(row: &Row, column: &str) -> Result<Digest, DecodeError> {
    Digest::from_slice(row.get::<&[u8]>(column)?)
        .ok_or_else(|| DecodeError::new(column, "not 32 bytes"))
}

/// Reads a nullable column of 32 bytes.
pub(super) fn digest_option(row: &Row, column: &str) -> Result<Option<Digest>, DecodeError> {
    row.get::<Option<&[u8]>>(column)?
        .map(|bytes| {
            Digest::from_slice(bytes).ok_or_else(|| DecodeError::new(column, "not 32 bytes"))
        })
        .transpose()
}

/// Reads a JSON text column.
pub(super) fn json<T: DeserializeOwned>(row: &Row, column: &str) -> Result<T, DecodeError> {
    serde_json::from_str(row.get::<&str>(column)?).map_err(|error| DecodeError::new(column, error))
}

/// Reads a nullable JSON text column.
pub(super) fn json_option<T: DeserializeOwned>(
    row: &Row,
    column: &str,
) -> Result<Option<T>, DecodeError> {
    row.get::<Option<&str>>(column)?
        .map(|text| serde_json::from_str(text).map_err(|error| DecodeError::new(column, error)))
        .transpose()
}

/// Reads a count or a duration, which the database stores as a signed number.
pub(super) fn unsigned(row: &Row, column: &str) -> Result<u64, DecodeError> {
    u64::try_from(row.get::<i64>(column)?).map_err(|error| DecodeError::new(column, error))
}

/// Reads a nullable column with a risk's name.
pub(super) fn risk_option(row: &Row, column: &str) -> Result<Option<Risk>, DecodeError> {
    let Some(text) = row.get::<Option<&str>>(column)? else { return Ok(None) };
    [Risk::Low, Risk::Medium, Risk::High, Risk::Critical]
        .into_iter()
        .find(|risk| risk.as_str() == text)
        .map(Some)
        .ok_or_else(|| DecodeError::new(column, "not a risk"))
}

/// Reads a nullable column with a stable code.
pub(super) fn error_code_option(row: &Row, column: &str) -> Result<Option<ErrorCode>, DecodeError> {
    row.get::<Option<&str>>(column)?
        .map(|text| {
            ErrorCode::from_text(text).ok_or_else(|| DecodeError::new(column, "not an error code"))
        })
        .transpose()
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
        (Some(_), Some(_)) => Err(StoreError::Ambiguous),
    }
}
