//! People and the tokens that stand for them. Passwords and tokens are kept as hashes only.

use orion_domain::{Digest, Role, UserName};
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _};

use super::row::parsed;
use super::writer::{Durability, Event};
use super::{Store, StoreError};

/// An account.
#[derive(Clone, PartialEq, Eq)]
pub struct UserRow {
    /// Its name.
    pub name: UserName,
    /// What it may do at most.
    pub role: Role,
    /// The password's hash; `None` for an account that only has tokens.
    pub password_hash: Option<String>,
}

impl std::fmt::Debug for UserRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserRow")
            .field("name", &self.name)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

impl FromRow<'_, SqliteRow> for UserRow {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            name: parsed(row, "name")?,
            role: parsed(row, "role")?,
            password_hash: row.try_get("password_hash")?,
        })
    }
}

/// What the audit holds of an account that is made.
#[derive(Serialize)]
struct UserCreated<'a> {
    user: &'a UserName,
    role: Role,
    has_password: bool,
}

/// What the audit holds of a token that is given out.
#[derive(Serialize)]
struct TokenCreated<'a> {
    user: &'a UserName,
    scopes: &'a str,
    expires_at: i64,
}

impl Store {
    /// Whether there is any account yet.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn has_users(&self) -> Result<bool, StoreError> {
        let user = sqlx::query("SELECT 1 FROM users LIMIT 1").fetch_optional(self.reads()).await?;
        Ok(user.is_some())
    }

    /// Makes the first account, an admin.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] where there is an account already.
    pub async fn create_first_admin(
        &self,
        user: &UserName,
        password_hash: Option<String>,
        now: i64,
    ) -> Result<(), StoreError> {
        let body = UserCreated { user, role: Role::Admin, has_password: password_hash.is_some() };
        let event = Event::new(now, "user.created", String::new(), &body)?;
        let user = user.clone();
        self.write_one(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let made = sqlx::query(
                    "INSERT INTO users (name, role, password_hash, created_at) \
                     SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT 1 FROM users)",
                )
                .bind(user.as_str())
                .bind(Role::Admin.as_str())
                .bind(password_hash)
                .bind(now)
                .execute(&mut tx.conn)
                .await?;
                if made.rows_affected() == 0 {
                    return Err(StoreError::Conflict);
                }
                tx.record(event);
                Ok(())
            })
        })
        .await
    }

    /// An account by its name.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn user(&self, name: &UserName) -> Result<UserRow, StoreError> {
        Ok(sqlx::query_as("SELECT * FROM users WHERE name = $1")
            .bind(name.as_str())
            .fetch_one(self.reads())
            .await?)
    }

    /// Keeps a token's hash, and forgets those of the same person that have expired.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] where there is no such account, or the token exists.
    pub async fn create_token(
        &self,
        user: &UserName,
        token_hash: Digest,
        scopes: &str,
        expires_at: i64,
        now: i64,
    ) -> Result<(), StoreError> {
        let event = Event::new(
            now,
            "token.created",
            String::new(),
            &TokenCreated { user, scopes, expires_at },
        )?;
        let (user, scopes) = (user.clone(), scopes.to_owned());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                sqlx::query("DELETE FROM tokens WHERE user_name = $1 AND expires_at <= $2")
                    .bind(user.as_str())
                    .bind(now)
                    .execute(&mut tx.conn)
                    .await?;
                sqlx::query(
                    "INSERT INTO tokens (hash, user_name, scopes, created_at, expires_at) \
                     VALUES ($1, $2, $3, $4, $5)",
                )
                .bind(token_hash.as_bytes().to_vec())
                .bind(user.as_str())
                .bind(scopes)
                .bind(now)
                .bind(expires_at)
                .execute(&mut tx.conn)
                .await?;
                tx.record(event);
                Ok(())
            })
        })
        .await
    }

    /// Whom a token stands for, while it is good.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn token(
        &self,
        token_hash: Digest,
        now: i64,
    ) -> Result<Option<(UserName, Role)>, StoreError> {
        let user: Option<UserRow> = sqlx::query_as(
            "SELECT users.* FROM tokens JOIN users ON users.name = tokens.user_name \
             WHERE tokens.hash = $1 AND tokens.expires_at > $2",
        )
        .bind(token_hash.as_bytes().to_vec())
        .bind(now)
        .fetch_optional(self.reads())
        .await?;
        Ok(user.map(|user| (user.name, user.role)))
    }
}
