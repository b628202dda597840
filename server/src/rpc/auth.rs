//! `AuthService`: accounts, sessions and API tokens.

mod tokens;
mod users;

use orion_domain::{Role, UserName};
use orion_wire::v1;
use orion_wire::v1::auth_service_server::AuthService;
use tonic::{Request, Response, Status};

use super::{Api, identity, status};
use crate::clock::now_ms;
use crate::fleet::effective_policy::person_changed;
use crate::listen::Peer;
use crate::listen::Source;
use crate::people::{self, Change, Identity, SignInError};

#[tonic::async_trait]
impl AuthService for Api {
    async fn create_first_admin(
        &self,
        request: Request<v1::CreateFirstAdminRequest>,
    ) -> Result<Response<v1::CreateFirstAdminResponse>, Status> {
        let v1::CreateFirstAdminRequest { secret, user, password } = request.into_inner();
        let user = user.parse().map_err(status::invalid)?;
        let password = (!password.is_empty()).then_some(password);
        let crate::backend::Backend { first_admin, store, people, .. } = &*self.0;
        let issued = if people::is_reset_secret(&secret) {
            first_admin.reset(store, people, &secret, &user, password).await
        } else {
            first_admin.create(store, &secret, &user, password).await
        };
        let issued = issued.map_err(status::sign_in)?;
        Ok(Response::new(v1::CreateFirstAdminResponse {
            token: issued.token.expose().to_owned(),
            expires_at: issued.expires_at,
        }))
    }

    async fn login(
        &self,
        request: Request<v1::LoginRequest>,
    ) -> Result<Response<v1::LoginResponse>, Status> {
        let source = source(&request)?;
        let v1::LoginRequest { user, password } = request.into_inner();
        // A name that is not valid gets the same error as one that does not exist.
        let user = user.parse().map_err(|_| status::sign_in(SignInError::Wrong))?;
        let issued = people::sign_in(&self.0.store, &self.0.people, &source, &user, password)
            .await
            .map_err(status::sign_in)?;
        Ok(Response::new(v1::LoginResponse {
            token: issued.token.expose().to_owned(),
            expires_at: issued.expires_at,
        }))
    }

    async fn who_am_i(
        &self,
        request: Request<v1::WhoAmIRequest>,
    ) -> Result<Response<v1::WhoAmIResponse>, Status> {
        let who = identity(&request)?;
        let found = self.0.store.token(who.token, now_ms()).await.map_err(status::store)?;
        Ok(Response::new(v1::WhoAmIResponse {
            user: who.caller.user.to_string(),
            role: who.caller.role.to_string(),
            token: found.map(|(row, _)| tokens::token(row)),
        }))
    }

    async fn logout(
        &self,
        request: Request<v1::LogoutRequest>,
    ) -> Result<Response<v1::LogoutResponse>, Status> {
        let Identity { caller, token, .. } = identity(&request)?;
        let v1::LogoutRequest { all } = request.into_inner();
        let session = (!all).then_some(token);
        let ended = self.0.store.sign_out(&caller.user, session, now_ms()).await;
        let ended = ended.map_err(status::store)?;
        self.0.people.changed(match session {
            Some(token) => Change::Token(token),
            None => Change::Sessions(caller.user, None),
        });
        Ok(Response::new(v1::LogoutResponse { ended: count(ended) }))
    }

    async fn list_users(
        &self,
        _: Request<v1::ListUsersRequest>,
    ) -> Result<Response<v1::ListUsersResponse>, Status> {
        self.users().await.map(Response::new)
    }

    async fn create_user(
        &self,
        request: Request<v1::CreateUserRequest>,
    ) -> Result<Response<v1::CreateUserResponse>, Status> {
        let by = identity(&request)?;
        let user = self.new_user(&by, request.into_inner()).await?;
        Ok(Response::new(v1::CreateUserResponse { user: Some(user) }))
    }

    async fn set_user_role(
        &self,
        request: Request<v1::SetUserRoleRequest>,
    ) -> Result<Response<v1::SetUserRoleResponse>, Status> {
        let by = identity(&request)?;
        let v1::SetUserRoleRequest { user, role } = request.into_inner();
        let role: Role = role.parse().map_err(status::invalid)?;
        let user: UserName = user.parse().map_err(status::invalid)?;
        let set = self.0.store.set_role(&user, role, &by.caller.user, now_ms()).await;
        set.map_err(status::change_user)?;
        self.0.people.changed(Change::Role(user.clone()));
        person_changed(&self.0.devices, &user).await.map_err(status::store)?;
        Ok(Response::new(v1::SetUserRoleResponse { user: Some(self.user(&user).await?) }))
    }

    async fn disable_user(
        &self,
        request: Request<v1::DisableUserRequest>,
    ) -> Result<Response<v1::DisableUserResponse>, Status> {
        let by = identity(&request)?;
        let user: UserName = request.into_inner().user.parse().map_err(status::invalid)?;
        let disabled = self.0.store.disable_user(&user, &by.caller.user, now_ms()).await;
        disabled.map_err(status::change_user)?;
        self.0.people.changed(Change::Disabled(user.clone()));
        person_changed(&self.0.devices, &user).await.map_err(status::store)?;
        Ok(Response::new(v1::DisableUserResponse { user: Some(self.user(&user).await?) }))
    }

    async fn enable_user(
        &self,
        request: Request<v1::EnableUserRequest>,
    ) -> Result<Response<v1::EnableUserResponse>, Status> {
        let by = identity(&request)?;
        let user: UserName = request.into_inner().user.parse().map_err(status::invalid)?;
        let enabled = self.0.store.enable_user(&user, &by.caller.user, now_ms()).await;
        enabled.map_err(status::change_user)?;
        person_changed(&self.0.devices, &user).await.map_err(status::store)?;
        Ok(Response::new(v1::EnableUserResponse { user: Some(self.user(&user).await?) }))
    }

    async fn set_password(
        &self,
        request: Request<v1::SetPasswordRequest>,
    ) -> Result<Response<v1::SetPasswordResponse>, Status> {
        let (by, source) = (identity(&request)?, source(&request)?);
        let ended = self.new_password(&by, &source, request.into_inner()).await?;
        Ok(Response::new(v1::SetPasswordResponse { ended }))
    }

    async fn list_tokens(
        &self,
        request: Request<v1::ListTokensRequest>,
    ) -> Result<Response<v1::ListTokensResponse>, Status> {
        let by = identity(&request)?;
        let tokens = self.tokens(&by, request.into_inner()).await?;
        Ok(Response::new(v1::ListTokensResponse { tokens }))
    }

    async fn create_token(
        &self,
        request: Request<v1::CreateTokenRequest>,
    ) -> Result<Response<v1::CreateTokenResponse>, Status> {
        let by = identity(&request)?;
        self.new_token(&by, request.into_inner()).await.map(Response::new)
    }

    async fn revoke_token(
        &self,
        request: Request<v1::RevokeTokenRequest>,
    ) -> Result<Response<v1::RevokeTokenResponse>, Status> {
        let by = identity(&request)?;
        let token = self.revoke(&by, request.into_inner()).await?;
        Ok(Response::new(v1::RevokeTokenResponse { token: Some(token) }))
    }
}

/// Returns the source of a request.
fn source<T>(request: &Request<T>) -> Result<Source, Status> {
    let peer = request.extensions().get::<Peer>();
    peer.map(Source::of).ok_or_else(|| Status::internal("Nobody knows where this comes from."))
}

fn count(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
