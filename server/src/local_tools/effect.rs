//! The effects of calls on the backend. An effect is stored in one transaction with what the call changes, and answers
//! for the call when its result was lost.

use orion_domain::{CallId, ErrorCode, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Context, Outcome};
use crate::store::{LocalEffect, Store, StoreError};

/// The result of a call that had its effect, as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredOutcome {
    message: String,
    data: Value,
}

impl Context {
    /// Returns the effect of this call with its result, to be stored with what the call changes.
    pub(super) fn effect<R: Serialize>(
        &self,
        outcome: &Outcome<R>,
    ) -> Result<LocalEffect, ToolError> {
        let Outcome { message, data, truncated: _ } = outcome;
        let stored = serde_json::to_value(data)
            .map(|data| StoredOutcome { message: message.clone(), data })
            .and_then(|stored| serde_json::to_string(&stored));
        let outcome = stored.map_err(|_| {
            ToolError::new(ErrorCode::Internal, "The result of this call cannot be written.")
        })?;
        Ok(LocalEffect { call: self.call, outcome })
    }
}

/// Returns the result of a call that had its effect. `None` if it had none.
pub(super) async fn earlier(
    store: &Store,
    call: CallId,
) -> Result<Option<Outcome<Value>>, StoreError> {
    let Some(stored) = store.local_effect(call).await? else { return Ok(None) };
    let StoredOutcome { message, data } =
        serde_json::from_str(&stored).map_err(|_| StoreError::Corrupt)?;
    Ok(Some(Outcome { message, data, truncated: false }))
}

/// Returns the error of a call that the backend could not do because of its database.
pub(super) fn failed(error: StoreError) -> ToolError {
    tracing::error!(%error, "a call on the backend could not use the database");
    ToolError::new(ErrorCode::Internal, format!("Nothing was changed: {error}."))
        .hint("make the call again")
}
