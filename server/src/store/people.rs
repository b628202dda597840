//! Accounts. Passwords are kept as hashes only. Changes are in `change`, what stands for a person in
//! `tokens`.

mod change;
mod tokens;

use orion_domain::{Role, UserName};
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _};

pub use tokens::{NewToken, TokenError, TokenFilter, TokenRow};

use super::row::{parsed, unsigned};
use super::writer::{Durability, Event, Tx};
use super::{Store, StoreError};

/// How many accounts there are at most.
const MOST_USERS: i64 = 10_000;

/// An account.
#[derive(Clone, PartialEq, Eq)]
pub struct UserRow {
    /// Its name.
    pub name: UserName,
    /// What it may do at most.
    pub role: Role,
    /// The password's hash; `None` for an account that only has tokens.
    pub password_hash: Option<String>,
    /// When it was made, Unix milliseconds.
    pub created_at: i64,
    /// Since when nobody gets in by it, Unix milliseconds.
    pub disabled_at: Option<i64>,
}

impl std::fmt::Debug for UserRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserRow")
            .field("name", &self.name)
            .field("role", &self.role)
            .field("disabled_at", &self.disabled_at)
            .finish_non_exhaustive()
    }
}

impl FromRow<'_, SqliteRow> for UserRow {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            name: parsed(row, "name")?,
            role: parsed(row, "role")?,
            password_hash: row.try_get("password_hash")?,
            created_at: row.try_get("created_at")?,
            disabled_at: row.try_get("disabled_at")?,
        })
    }
}

/// An account and what stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRow {
    /// The account.
    pub user: UserRow,
    /// How many sessions are good.
    pub sessions: u64,
    /// How many API tokens are good.
    pub tokens: u64,
    /// When any of them was last used, to the minute, Unix milliseconds.
    pub last_used_at: Option<i64>,
}

impl FromRow<'_, SqliteRow> for AccountRow {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            user: UserRow::from_row(row)?,
            sessions: unsigned(row, "sessions")?,
            tokens: unsigned(row, "tokens")?,
            last_used_at: row.try_get("last_used_at")?,
        })
    }
}

macro_rules! accounts {
    ($rest:literal) => {
        concat!(
            "SELECT users.*, \
             COUNT(CASE WHEN tokens.scopes = 'session' THEN 1 END) AS sessions, \
             COUNT(CASE WHEN tokens.scopes <> 'session' THEN 1 END) AS tokens, \
             MAX(tokens.last_used_at) AS last_used_at FROM users \
             LEFT JOIN tokens ON tokens.user_name = users.name AND tokens.expires_at > $1 ",
            $rest
        )
    };
}

/// Why an account was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChangeUserError {
    /// There is no such account.
    #[error("there is no such account")]
    NotFound,
    /// It is the only admin who can sign in.
    #[error("this is the last admin who can sign in")]
    LastAdmin,
    /// There are too many accounts.
    #[error("there are too many accounts")]
    TooMany,
    /// The name is taken.
    #[error("there is an account of that name")]
    Taken,
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What the audit holds of an account that is made.
#[derive(Serialize)]
struct UserCreated<'a> {
    user: &'a UserName,
    role: Role,
    has_password: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a UserName>,
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
        let has_password = password_hash.is_some();
        let body = UserCreated { user, role: Role::Admin, has_password, by: None };
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

    /// Every account, by name.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn accounts(&self, now: i64) -> Result<Vec<AccountRow>, StoreError> {
        let sql = accounts!("GROUP BY users.name ORDER BY users.name LIMIT $2");
        Ok(sqlx::query_as(sql).bind(now).bind(MOST_USERS).fetch_all(self.reads()).await?)
    }

    /// One account with what stands for it.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn account(&self, name: &UserName, now: i64) -> Result<AccountRow, StoreError> {
        let sql = accounts!("WHERE users.name = $2 GROUP BY users.name");
        Ok(sqlx::query_as(sql).bind(now).bind(name.as_str()).fetch_one(self.reads()).await?)
    }

    /// Makes an account.
    ///
    /// # Errors
    /// See [`ChangeUserError`].
    pub async fn create_user(
        &self,
        name: &UserName,
        role: Role,
        password_hash: Option<String>,
        by: &UserName,
        now: i64,
    ) -> Result<(), ChangeUserError> {
        let has_password = password_hash.is_some();
        let body = UserCreated { user: name, role, has_password, by: Some(by) };
        let event = Event::new(now, "user.created", String::new(), &body)?;
        let name = name.clone();
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                if find(tx, &name).await?.is_some() {
                    return Ok(Err(ChangeUserError::Taken));
                }
                let (users,): (i64,) =
                    sqlx::query_as("SELECT COUNT(*) FROM users").fetch_one(&mut tx.conn).await?;
                if users >= MOST_USERS {
                    return Ok(Err(ChangeUserError::TooMany));
                }
                insert(tx, &name, role, password_hash, now).await?;
                tx.record(event);
                Ok(Ok(()))
            })
        })
        .await?
    }
}

async fn find(tx: &mut Tx, name: &UserName) -> Result<Option<UserRow>, StoreError> {
    Ok(sqlx::query_as("SELECT * FROM users WHERE name = $1")
        .bind(name.as_str())
        .fetch_optional(&mut tx.conn)
        .await?)
}

async fn insert(
    tx: &mut Tx,
    name: &UserName,
    role: Role,
    password_hash: Option<String>,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO users (name, role, password_hash, created_at) VALUES ($1, $2, $3, $4)",
    )
    .bind(name.as_str())
    .bind(role.as_str())
    .bind(password_hash)
    .bind(now)
    .execute(&mut tx.conn)
    .await?;
    Ok(())
}
