//! Replaces what a request names before anything is decided, so that every check and the audit are about the call that
//! runs: an alias by its tool, and the earlier name of a device by its id where an undo names it.

use orion_domain::{CallRequest, Caller};

use super::{Pipeline, aliases, undo};
use crate::store::StoreError;

/// Replaces the names of a request. Returns the alias, or `None` for a call that names a tool.
///
/// # Errors
/// The database cannot be read.
pub async fn resolve(
    pipeline: &Pipeline,
    caller: &Caller,
    request: &mut CallRequest,
) -> Result<Option<String>, StoreError> {
    let alias = aliases::expand(pipeline, caller, request).await?;
    undo::follow_rename(pipeline, caller, request).await?;
    Ok(alias)
}
