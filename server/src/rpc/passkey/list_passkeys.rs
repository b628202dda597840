//! `ListPasskeys`: the passkeys of a person.

use orion_wire::v1;
use tonic::Status;

use super::{PasskeyApi, to_proto};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Lists the caller's passkeys, or for an admin another person's.
pub(super) async fn list_passkeys(
    api: &PasskeyApi,
    request: Signed<v1::ListPasskeysRequest>,
) -> Result<v1::ListPasskeysResponse, Status> {
    let Signed { identity: by, message } = request;
    let v1::ListPasskeysRequest { user } = message;
    let user = to_proto::owner(&by.caller, &user)?;
    let passkeys = api.pipeline.store.passkeys(&user).await.map_err(status::store)?;
    Ok(v1::ListPasskeysResponse {
        passkeys: passkeys.into_iter().map(to_proto::passkey).collect(),
        origin: api.passkeys.origin().unwrap_or_default().to_owned(),
    })
}
