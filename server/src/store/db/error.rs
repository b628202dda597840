//! What the engine's errors mean to the store.

use crate::store::StoreError;

/// The name of the trigger's message that a statement did not change the rows that it must change.
pub(super) const UNMET: &str = "unmet expectation";

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let kind = classify(&error);
        match kind {
            Self::Conflict | Self::Ambiguous | Self::KeyInUse | Self::NotFound => {}
            Self::Unavailable | Self::Full | Self::OtherVersion | Self::Corrupt => {
                tracing::error!(%error, "the database failed");
            }
        }
        kind
    }
}

/// Maps SQLite's primary result codes, which are the low byte of the extended code.
fn classify(error: &sqlx::Error) -> StoreError {
    const CORRUPT: u32 = 11;
    const FULL: u32 = 13;
    const CONSTRAINT: u32 = 19;
    const NOT_A_DATABASE: u32 = 26;
    if matches!(error, sqlx::Error::RowNotFound) {
        return StoreError::NotFound;
    }
    if matches!(error, sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)) {
        return StoreError::Corrupt;
    }
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<u32>().ok());
    match code.map(|code| code & 0xff) {
        Some(FULL) => StoreError::Full,
        Some(CONSTRAINT) if is_key_in_use(error) => StoreError::KeyInUse,
        Some(CONSTRAINT) => StoreError::Conflict,
        Some(CORRUPT | NOT_A_DATABASE) => StoreError::Corrupt,
        Some(_) | None => StoreError::Unavailable,
    }
}

/// Returns whether a call was rejected for its idempotency key. SQLite names the columns that must be
/// unique.
fn is_key_in_use(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| {
        error.is_unique_violation() && error.message().contains("calls.idempotency_key")
    })
}

/// Returns whether a statement did not change the rows that it must change.
pub(super) fn is_unmet(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.message().contains(UNMET))
}
