//! `AuthService`: who people are.

use orion_wire::v1;
use orion_wire::v1::auth_service_server::AuthService;
use tonic::{Request, Response, Status};

use super::{Api, caller, status};
use crate::people;

#[tonic::async_trait]
impl AuthService for Api {
    async fn create_first_admin(
        &self,
        request: Request<v1::CreateFirstAdminRequest>,
    ) -> Result<Response<v1::CreateFirstAdminResponse>, Status> {
        let v1::CreateFirstAdminRequest { secret, user, password } = request.into_inner();
        let user = user.parse().map_err(status::invalid)?;
        let password = (!password.is_empty()).then_some(password);
        let issued = self
            .0
            .first_admin
            .create(&self.0.store, &secret, &user, password)
            .await
            .map_err(status::sign_in)?;
        Ok(Response::new(v1::CreateFirstAdminResponse {
            token: issued.token.expose().to_owned(),
            expires_at: issued.expires_at,
        }))
    }

    async fn login(
        &self,
        request: Request<v1::LoginRequest>,
    ) -> Result<Response<v1::LoginResponse>, Status> {
        let v1::LoginRequest { user, password } = request.into_inner();
        // A name that cannot be one is as wrong as one that nobody has.
        let user = user.parse().map_err(|_| status::sign_in(people::SignInError::Wrong))?;
        if password.len() > 1024 {
            return Err(status::sign_in(people::SignInError::Wrong));
        }
        let issued =
            people::sign_in(&self.0.store, &user, password).await.map_err(status::sign_in)?;
        Ok(Response::new(v1::LoginResponse {
            token: issued.token.expose().to_owned(),
            expires_at: issued.expires_at,
        }))
    }

    async fn who_am_i(
        &self,
        request: Request<v1::WhoAmIRequest>,
    ) -> Result<Response<v1::WhoAmIResponse>, Status> {
        let caller = caller(&request)?;
        Ok(Response::new(v1::WhoAmIResponse {
            user: caller.user.to_string(),
            role: caller.role.to_string(),
        }))
    }
}
