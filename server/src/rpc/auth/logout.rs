//! `Logout`: ends sessions of the caller.

use orion_wire::v1;
use tonic::Status;

use super::{AuthApi, to_proto};
use crate::clock::now_ms;
use crate::people::{Change, Identity};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Ends the caller's session, or with `all` every session of theirs, and their open streams. Returns how many
/// ended.
pub(super) async fn logout(
    api: &AuthApi,
    request: Signed<v1::LogoutRequest>,
) -> Result<v1::LogoutResponse, Status> {
    let Signed { identity: Identity { caller, token, .. }, message } = request;
    let v1::LogoutRequest { all } = message;
    let session = (!all).then_some(token);
    let ended = api.store.sign_out(&caller.user, session, now_ms()).await;
    let ended = ended.map_err(status::store)?;
    api.people.changed(match session {
        Some(token) => Change::Token(token),
        None => Change::Sessions(caller.user, None),
    });
    Ok(v1::LogoutResponse { ended: to_proto::count(ended) })
}
