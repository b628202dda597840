//! `Login`: a session for a name and its password.

use orion_wire::v1;
use tonic::Status;

use super::AuthApi;
use crate::listen::Source;
use crate::people::{self, SignInError};
use crate::rpc::status;

/// Signs a person in. A wrong name and a wrong password have the same error and take as long; wrong passwords
/// are limited for each account and source.
pub(super) async fn login(
    api: &AuthApi,
    source: &Source,
    message: v1::LoginRequest,
) -> Result<v1::LoginResponse, Status> {
    let v1::LoginRequest { user, password } = message;
    // A name that is not valid gets the same error as one that does not exist.
    let user = user.parse().map_err(|_| status::sign_in(SignInError::Wrong))?;
    let issued = people::sign_in(&api.store, &api.people, source, &user, password).await;
    let issued = issued.map_err(status::sign_in)?;
    Ok(v1::LoginResponse { token: issued.token.expose().to_owned(), expires_at: issued.expires_at })
}
