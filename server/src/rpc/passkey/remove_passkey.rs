//! `RemovePasskey`: a passkey that signs no more.

use orion_domain::ErrorCode;
use orion_wire::v1;
use tonic::Status;

use super::{PasskeyApi, to_proto};
use crate::clock::now_ms;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::StoreError;

/// Removes a passkey of the caller, or for an admin another person's.
pub(super) async fn remove_passkey(
    api: &PasskeyApi,
    request: Signed<v1::RemovePasskeyRequest>,
) -> Result<v1::RemovePasskeyResponse, Status> {
    let Signed { identity: by, message } = request;
    let v1::RemovePasskeyRequest { passkey_id, user } = message;
    let user = to_proto::owner(&by.caller, &user)?;
    let store = &api.pipeline.store;
    match store.remove_passkey(&user, &passkey_id, &by.caller.user, now_ms()).await {
        Ok(row) => Ok(v1::RemovePasskeyResponse { passkey: Some(to_proto::passkey(row)) }),
        Err(StoreError::NotFound) => Err(status::hinted(
            ErrorCode::NotFound,
            format!("{user} has no such passkey"),
            "list the passkeys again; it may be removed already",
        )),
        Err(error) => Err(status::store(error)),
    }
}
