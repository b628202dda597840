//! `CreateFirstAdmin`: the first account, and the way back in for an admin who is locked out.

use orion_wire::v1;
use tonic::Status;

use super::AuthApi;
use crate::people;
use crate::rpc::status;

/// Creates the first admin with the one-time secret that the backend wrote at its first start, or resets an
/// admin with a secret of `orion-server admin reset`, and signs them in. Needs no sign-in: the secret is the
/// proof.
pub(super) async fn create_first_admin(
    api: &AuthApi,
    message: v1::CreateFirstAdminRequest,
) -> Result<v1::CreateFirstAdminResponse, Status> {
    let AuthApi { first_admin, store, people, .. } = api;
    let v1::CreateFirstAdminRequest { secret, user, password } = message;
    let user = user.parse().map_err(status::invalid)?;
    let password = (!password.is_empty()).then_some(password);
    let issued = if people::is_reset_secret(&secret) {
        first_admin.reset(store, people, &secret, &user, password).await
    } else {
        first_admin.create(store, &secret, &user, password).await
    };
    let issued = issued.map_err(status::sign_in)?;
    Ok(v1::CreateFirstAdminResponse {
        token: issued.token.expose().to_owned(),
        expires_at: issued.expires_at,
    })
}
