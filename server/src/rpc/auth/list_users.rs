//! `ListUsers`: the accounts.

use orion_wire::v1;
use tonic::Status;

use super::{AuthApi, to_proto};
use crate::clock::now_ms;
use crate::rpc::status;

/// Lists every account, disabled ones included.
pub(super) async fn list_users(api: &AuthApi) -> Result<v1::ListUsersResponse, Status> {
    let rows = api.store.accounts(now_ms()).await.map_err(status::store)?;
    Ok(v1::ListUsersResponse { users: rows.into_iter().map(to_proto::user).collect() })
}
