//! `RemoveMacro`: removes a macro of the caller.

use orion_domain::{ErrorCode, Hint};
use orion_wire::v1;
use tonic::Status;

use super::{MacroApi, to_proto};
use crate::clock::now_ms;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Removes a macro of the caller.
pub(super) async fn remove_macro(
    api: &MacroApi,
    request: Signed<v1::RemoveMacroRequest>,
) -> Result<v1::RemoveMacroResponse, Status> {
    let Signed { identity, message } = request;
    let (store, user) = (&api.store, &identity.caller.user);
    let found = store.find_macro(user, &message.name).await.map_err(status::store)?;
    let removed = match found {
        Some(row) => {
            let is_removed = store.remove_macro(&row, now_ms()).await.map_err(status::store)?;
            is_removed.then_some(row)
        }
        None => None,
    };
    let row = removed.ok_or_else(|| {
        let hint = Hint::run("list your macros", "orion macros list");
        status::hinted(ErrorCode::NotFound, "you have no such macro", hint)
    })?;
    Ok(v1::RemoveMacroResponse { removed: Some(to_proto::of_row(row)) })
}
