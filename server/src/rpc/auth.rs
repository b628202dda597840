//! `AuthService`: accounts, sessions and API tokens.

mod create_first_admin;
mod create_sign_in_link;
mod create_token;
mod create_user;
mod delete_user;
mod disable_user;
mod enable_user;
mod list_tokens;
mod list_users;
mod login;
mod logout;
mod revoke_token;
mod set_password;
mod set_user_role;
mod to_proto;
mod token_owner;
mod who_am_i;

use std::sync::Arc;

use orion_domain::UserName;
use orion_wire::v1;
use orion_wire::v1::auth_service_server::AuthService;
use tonic::{Request, Response, Status};

use super::signed::source;
use super::{RpcResult, status};
use crate::clock::now_ms;
use crate::fleet::Devices;
use crate::people::{FirstAdmin, IdentityCache};
use crate::store::Store;

/// What the service uses.
#[derive(Debug, Clone)]
pub(super) struct AuthApi {
    pub(super) store: Store,
    pub(super) devices: Devices,
    pub(super) people: Arc<IdentityCache>,
    pub(super) first_admin: Arc<FirstAdmin>,
    /// Whether this program contains the page.
    pub(super) has_page: bool,
}

impl AuthApi {
    /// Returns an account as it is after a change.
    async fn account(&self, name: &UserName) -> Result<v1::User, Status> {
        let row = self.store.account(name, now_ms()).await;
        row.map(to_proto::user).map_err(status::store)
    }
}

#[tonic::async_trait]
impl AuthService for AuthApi {
    async fn create_first_admin(
        &self,
        request: Request<v1::CreateFirstAdminRequest>,
    ) -> RpcResult<v1::CreateFirstAdminResponse> {
        create_first_admin::create_first_admin(self, request.into_inner()).await.map(Response::new)
    }

    async fn login(&self, request: Request<v1::LoginRequest>) -> RpcResult<v1::LoginResponse> {
        login::login(self, &source(&request)?, request.into_inner()).await.map(Response::new)
    }

    async fn who_am_i(&self, request: Request<v1::WhoAmIRequest>) -> RpcResult<v1::WhoAmIResponse> {
        who_am_i::who_am_i(self, request.try_into()?).await.map(Response::new)
    }

    async fn create_sign_in_link(
        &self,
        request: Request<v1::CreateSignInLinkRequest>,
    ) -> RpcResult<v1::CreateSignInLinkResponse> {
        create_sign_in_link::create_sign_in_link(self, request.try_into()?).map(Response::new)
    }

    async fn logout(&self, request: Request<v1::LogoutRequest>) -> RpcResult<v1::LogoutResponse> {
        logout::logout(self, request.try_into()?).await.map(Response::new)
    }

    async fn list_users(
        &self,
        _: Request<v1::ListUsersRequest>,
    ) -> RpcResult<v1::ListUsersResponse> {
        list_users::list_users(self).await.map(Response::new)
    }

    async fn create_user(
        &self,
        request: Request<v1::CreateUserRequest>,
    ) -> RpcResult<v1::CreateUserResponse> {
        create_user::create_user(self, request.try_into()?).await.map(Response::new)
    }

    async fn set_user_role(
        &self,
        request: Request<v1::SetUserRoleRequest>,
    ) -> RpcResult<v1::SetUserRoleResponse> {
        set_user_role::set_user_role(self, request.try_into()?).await.map(Response::new)
    }

    async fn disable_user(
        &self,
        request: Request<v1::DisableUserRequest>,
    ) -> RpcResult<v1::DisableUserResponse> {
        disable_user::disable_user(self, request.try_into()?).await.map(Response::new)
    }

    async fn enable_user(
        &self,
        request: Request<v1::EnableUserRequest>,
    ) -> RpcResult<v1::EnableUserResponse> {
        enable_user::enable_user(self, request.try_into()?).await.map(Response::new)
    }

    async fn delete_user(
        &self,
        request: Request<v1::DeleteUserRequest>,
    ) -> RpcResult<v1::DeleteUserResponse> {
        delete_user::delete_user(self, request.try_into()?).await.map(Response::new)
    }

    async fn set_password(
        &self,
        request: Request<v1::SetPasswordRequest>,
    ) -> RpcResult<v1::SetPasswordResponse> {
        set_password::set_password(self, &source(&request)?, request.try_into()?)
            .await
            .map(Response::new)
    }

    async fn list_tokens(
        &self,
        request: Request<v1::ListTokensRequest>,
    ) -> RpcResult<v1::ListTokensResponse> {
        list_tokens::list_tokens(self, request.try_into()?).await.map(Response::new)
    }

    async fn create_token(
        &self,
        request: Request<v1::CreateTokenRequest>,
    ) -> RpcResult<v1::CreateTokenResponse> {
        create_token::create_token(self, request.try_into()?).await.map(Response::new)
    }

    async fn revoke_token(
        &self,
        request: Request<v1::RevokeTokenRequest>,
    ) -> RpcResult<v1::RevokeTokenResponse> {
        revoke_token::revoke_token(self, request.try_into()?).await.map(Response::new)
    }
}
