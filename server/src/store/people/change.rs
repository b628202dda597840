//! Changes of accounts. Each reads what it depends on in the same transaction, so the second of two
//! concurrent changes sees the first: at least one admin always remains.

use orion_domain::{DeviceId, Digest, Role, UserName};
use serde::Serialize;

use super::{ChangeUserError, UserRow, find, find_any, insert, sign_out};
use crate::store::access_requests::end_access_of;
use crate::store::db::{AuditEvent, Durability, Tx, sql, values};
use crate::store::memories::forget_all;
use crate::store::{Store, StoreError, macros, passkeys, schedules};

/// The sessions of an account that stay when its password changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionsAfter {
    /// None: somebody else set the password.
    None,
    /// The one that changed it.
    One(Digest),
    /// All: it is the first password.
    All,
}

impl SessionsAfter {
    /// Returns the session that alone stays, if there is one. None where no session ends.
    #[must_use]
    pub const fn ends_all_but(self) -> Option<Option<Digest>> {
        match self {
            Self::None => Some(None),
            Self::One(session) => Some(Some(session)),
            Self::All => None,
        }
    }
}

/// The audit event of a changed role.
#[derive(Serialize)]
struct RoleChanged<'a> {
    user: &'a UserName,
    from: Role,
    to: Role,
    by: &'a UserName,
}

/// The audit event of other changes.
#[derive(Serialize)]
struct UserChanged<'a> {
    user: &'a UserName,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a UserName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<u64>,
}

impl Store {
    /// Changes an account's role.
    ///
    /// # Errors
    /// See [`ChangeUserError`].
    pub async fn set_role(
        &self,
        name: &UserName,
        role: Role,
        by: &UserName,
        now: i64,
    ) -> Result<(), ChangeUserError> {
        let (name, by) = (name.clone(), by.clone());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let Some(user) = find(tx, &name).await? else {
                    return Ok(Err(ChangeUserError::NotFound));
                };
                if user.role == role {
                    return Ok(Ok(()));
                }
                if is_last_admin(tx, &user, now).await? {
                    return Ok(Err(ChangeUserError::LastAdmin));
                }
                tx.execute(
                    sql("UPDATE users SET role = $1 WHERE name = $2")
                        .bind(role.as_str())
                        .bind(name.as_str()),
                )
                .await?;
                let body = RoleChanged { user: &name, from: user.role, to: role, by: &by };
                tx.record(AuditEvent::new(now, "user.role_changed", String::new(), &body)?);
                Ok(Ok(()))
            })
        })
        .await?
    }

    /// Disables an account, and ends its sessions, tokens, passkeys, tasks and temporary grants. Returns the devices whose
    /// grants ended.
    ///
    /// # Errors
    /// See [`ChangeUserError`].
    pub async fn disable_user(
        &self,
        name: &UserName,
        by: &UserName,
        now: i64,
    ) -> Result<Vec<DeviceId>, ChangeUserError> {
        let (name, by) = (name.clone(), by.clone());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let Some(user) = find(tx, &name).await? else {
                    return Ok(Err(ChangeUserError::NotFound));
                };
                if user.disabled_at.is_some() {
                    return Ok(Ok(Vec::new()));
                }
                if is_last_admin(tx, &user, now).await? {
                    return Ok(Err(ChangeUserError::LastAdmin));
                }
                tx.execute(
                    sql("UPDATE users SET disabled_at = $1 WHERE name = $2")
                        .bind(now)
                        .bind(name.as_str()),
                )
                .await?;
                let ended = tx
                    .execute(sql("DELETE FROM tokens WHERE user_name = $1").bind(name.as_str()))
                    .await?;
                schedules::cancel_all(tx, &name, &by, now).await?;
                tx.execute(passkeys::delete_all(&name)).await?;
                let devices = end_access_of(tx, &name, &by, now).await?;
                let body = UserChanged { user: &name, by: Some(&by), ended: Some(ended) };
                tx.record(AuditEvent::new(now, "user.disabled", String::new(), &body)?);
                Ok(Ok(devices))
            })
        })
        .await?
    }

    /// Deletes an account: its password, sessions, tokens, passkeys, aliases and memories. Its name stays, and is never given again.
    /// Returns the devices whose temporary grants ended.
    ///
    /// # Errors
    /// See [`ChangeUserError`].
    pub async fn delete_user(
        &self,
        name: &UserName,
        by: &UserName,
        now: i64,
    ) -> Result<Vec<DeviceId>, ChangeUserError> {
        let (name, by) = (name.clone(), by.clone());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let Some(user) = find(tx, &name).await? else {
                    return Ok(Err(ChangeUserError::NotFound));
                };
                if is_last_admin(tx, &user, now).await? {
                    return Ok(Err(ChangeUserError::LastAdmin));
                }
                tx.execute(
                    sql("UPDATE users SET deleted_at = $1, disabled_at = COALESCE(disabled_at, $1), \
                     password_hash = NULL WHERE name = $2")
                    .bind(now)
                    .bind(name.as_str()),
                )
                .await?;
                let ended = tx
                    .execute(sql("DELETE FROM tokens WHERE user_name = $1").bind(name.as_str()))
                    .await?;
                tx.execute(sql("DELETE FROM aliases WHERE user_name = $1").bind(name.as_str()))
                    .await?;
                let kept = [
                    schedules::delete_all(&name),
                    macros::delete_all(&name),
                    passkeys::delete_all(&name),
                ];
                for statement in forget_all(&name).into_iter().chain(kept) {
                    tx.execute(statement).await?;
                }
                let devices = end_access_of(tx, &name, &by, now).await?;
                let body = UserChanged { user: &name, by: Some(&by), ended: Some(ended) };
                tx.record(AuditEvent::new(now, "user.deleted", String::new(), &body)?);
                Ok(Ok(devices))
            })
        })
        .await?
    }

    /// Enables an account; its people have to sign in again.
    ///
    /// # Errors
    /// See [`ChangeUserError`].
    pub async fn enable_user(
        &self,
        name: &UserName,
        by: &UserName,
        now: i64,
    ) -> Result<(), ChangeUserError> {
        let (name, by) = (name.clone(), by.clone());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let Some(user) = find(tx, &name).await? else {
                    return Ok(Err(ChangeUserError::NotFound));
                };
                if user.disabled_at.is_some() {
                    // What was scheduled before does not come back.
                    schedules::cancel_all(tx, &name, &by, now).await?;
                    tx.execute(
                        sql("UPDATE users SET disabled_at = NULL WHERE name = $1")
                            .bind(name.as_str()),
                    )
                    .await?;
                    let body = UserChanged { user: &name, by: Some(&by), ended: None };
                    tx.record(AuditEvent::new(now, "user.enabled", String::new(), &body)?);
                }
                Ok(Ok(()))
            })
        })
        .await?
    }

    /// Changes a password and ends the account's sessions, except those that are kept. Returns how many
    /// ended.
    ///
    /// # Errors
    /// See [`ChangeUserError`].
    pub async fn set_password(
        &self,
        name: &UserName,
        password_hash: String,
        by: &UserName,
        sessions: SessionsAfter,
        now: i64,
    ) -> Result<u64, ChangeUserError> {
        let (name, by) = (name.clone(), by.clone());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let changed = tx
                    .execute(
                        sql("UPDATE users SET password_hash = $1 WHERE name = $2 AND deleted_at IS NULL \
                             AND ($3 OR password_hash IS NULL)")
                            .bind(password_hash)
                            .bind(name.as_str())
                            .bind(sessions != SessionsAfter::All),
                    )
                    .await?;
                if changed == 0 {
                    // Somebody else may have set the first password.
                    let is_set = sessions == SessionsAfter::All && find(tx, &name).await?.is_some();
                    let error = if is_set { ChangeUserError::IsSet } else { ChangeUserError::NotFound };
                    return Ok(Err(error));
                }
                let ended = match sessions.ends_all_but() {
                    Some(kept) => sign_out::end_sessions(tx, &name, kept).await?,
                    None => 0,
                };
                let body = UserChanged { user: &name, by: Some(&by), ended: Some(ended) };
                tx.record(AuditEvent::new(now, "user.password_set", String::new(), &body)?);
                Ok(Ok(ended))
            })
        })
        .await?
    }

    /// Makes an account an enabled admin, or creates it, for a person who has the backend's own secret. If
    /// a password is given, it is set and all sessions end.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the account was deleted. The database cannot be written.
    pub async fn restore_admin(
        &self,
        name: &UserName,
        password_hash: Option<String>,
        now: i64,
    ) -> Result<(), StoreError> {
        let name = name.clone();
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let known = find_any(tx, &name).await?;
                if known.as_ref().is_some_and(|user| user.deleted_at.is_some()) {
                    return Err(StoreError::Conflict);
                }
                if known.is_none() {
                    insert(tx, &name, Role::Admin, None, now).await?;
                }
                tx.execute(
                    sql("UPDATE users SET role = $1, disabled_at = NULL WHERE name = $2")
                        .bind(Role::Admin.as_str())
                        .bind(name.as_str()),
                )
                .await?;
                let mut ended = None;
                if let Some(hash) = password_hash {
                    tx.execute(
                        sql("UPDATE users SET password_hash = $1 WHERE name = $2")
                            .bind(hash)
                            .bind(name.as_str()),
                    )
                    .await?;
                    ended = Some(sign_out::end_sessions(tx, &name, None).await?);
                }
                let body = UserChanged { user: &name, by: None, ended };
                tx.record(AuditEvent::new(now, "admin.reset_used", String::new(), &body)?);
                Ok(())
            })
        })
        .await
    }
}

/// Returns whether nobody else could administer the backend. An admin without a password and without a
/// session does not count.
async fn is_last_admin(tx: &mut Tx, user: &UserRow, now: i64) -> Result<bool, StoreError> {
    if user.role != Role::Admin || user.disabled_at.is_some() {
        return Ok(false);
    }
    let other: Option<(i64,)> = tx
        .query_optional(
            sql("SELECT 1 FROM users WHERE role = $1 AND disabled_at IS NULL AND name <> $2 \
         AND (password_hash IS NOT NULL OR EXISTS (SELECT 1 FROM tokens \
         WHERE user_name = users.name AND scopes = 'session' AND expires_at > $3)) LIMIT 1")
            .with(values![Role::Admin.as_str(), user.name.as_str(), now]),
        )
        .await?;
    Ok(other.is_none())
}
