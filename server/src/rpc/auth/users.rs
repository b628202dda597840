//! Accounts: listed, created and given passwords.

use orion_domain::{ErrorCode, Hint, Role, UserName};
use orion_wire::v1;
use tonic::Status;

use super::count;
use crate::clock::now_ms;
use crate::listen::Source;
use crate::people::{self, Change, Identity, SignInError};
use crate::rpc::{Api, status};
use crate::scope::TokenKind;
use crate::store::{AccountRow, StoreError};

impl Api {
    /// Lists every account.
    pub(super) async fn users(&self) -> Result<v1::ListUsersResponse, Status> {
        let rows = self.0.store.accounts(now_ms()).await.map_err(status::store)?;
        Ok(v1::ListUsersResponse { users: rows.into_iter().map(user).collect() })
    }

    /// Returns one account.
    pub(super) async fn user(&self, name: &UserName) -> Result<v1::User, Status> {
        self.0.store.account(name, now_ms()).await.map(user).map_err(status::store)
    }

    /// Creates an account. Only a session may set a password, because a password signs a person in.
    pub(super) async fn new_user(
        &self,
        by: &Identity,
        request: v1::CreateUserRequest,
    ) -> Result<v1::User, Status> {
        let v1::CreateUserRequest { user, role, password } = request;
        let name: UserName = user.parse().map_err(status::invalid)?;
        let role: Role = role.parse().map_err(status::invalid)?;
        let hash = if password.is_empty() {
            None
        } else if by.kind != TokenKind::Session {
            return Err(status::hinted(
                ErrorCode::PermissionDenied,
                "an API token creates accounts without a password only",
                Hint::run("sign in to set a password", "orion login"),
            ));
        } else {
            Some(people::hash(password).await.map_err(status::sign_in)?)
        };
        let made = self.0.store.create_user(&name, role, hash, &by.caller.user, now_ms()).await;
        made.map_err(status::change_user)?;
        self.user(&name).await
    }

    /// Sets a password: one's own with the old one, another person's as an admin. Returns how many sessions
    /// ended.
    pub(super) async fn new_password(
        &self,
        by: &Identity,
        source: &Source,
        request: v1::SetPasswordRequest,
    ) -> Result<u32, Status> {
        let v1::SetPasswordRequest { user, old_password, password } = request;
        let own = &by.caller.user;
        let name = if user.is_empty() {
            own.clone()
        } else {
            user.parse::<UserName>().map_err(status::invalid)?
        };
        let is_own = name == *own;
        if is_own {
            self.check_old(source, &name, old_password).await.map_err(status::sign_in)?;
        } else if by.caller.role != Role::Admin {
            return Err(status::denied(format!(
                "only an admin sets another person's password, and {own} is {}",
                by.caller.role
            )));
        }
        let hash = people::hash(password).await.map_err(status::sign_in)?;
        let keep = is_own.then_some(by.token);
        let ended = self.0.store.set_password(&name, hash, own, keep, now_ms()).await;
        let ended = ended.map_err(status::change_user)?;
        self.0.people.changed(Change::Sessions(name, keep));
        Ok(count(ended))
    }

    /// Checks the old password where there is one, because a session's holder need not be its person. A wrong
    /// password counts as a failed login.
    async fn check_old(
        &self,
        source: &Source,
        name: &UserName,
        old: String,
    ) -> Result<(), SignInError> {
        let row = match self.0.store.user(name).await {
            Ok(row) => row,
            Err(StoreError::NotFound) => return Err(SignInError::Wrong),
            Err(error) => return Err(error.into()),
        };
        let Some(stored) = row.password_hash else { return Ok(()) };
        let tries = &self.0.people.tries;
        tries.attempt(name, source, now_ms())?;
        if !people::verify(Some(stored), old).await? {
            let body =
                serde_json::json!({"user": name, "from": source.to_string(), "for": "password"});
            self.0.store.audit_event("auth.failed", body, now_ms()).await?;
            return Err(SignInError::OldPassword);
        }
        tries.succeeded(name, source, now_ms());
        Ok(())
    }
}

/// Converts an account to its wire form.
fn user(row: AccountRow) -> v1::User {
    let AccountRow { user, sessions, tokens, last_used_at } = row;
    v1::User {
        user: user.name.to_string(),
        role: user.role.to_string(),
        has_password: user.password_hash.is_some(),
        sessions: count(sessions),
        tokens: count(tokens),
        created_at: user.created_at,
        last_used_at: last_used_at.unwrap_or_default(),
        disabled_at: user.disabled_at.unwrap_or_default(),
    }
}
