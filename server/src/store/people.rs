//! Accounts. Passwords are stored as hashes only. Changes are in `change`, sessions and API tokens in
//! `tokens`.

mod change;
mod linked_session;
mod sign_out;
mod token;
mod tokens;

use orion_domain::{Role, UserName};
use serde::Serialize;

pub use change::SessionsAfter;
pub use linked_session::LinkedSession;
pub use token::{NewToken, TokenError, TokenFilter, TokenRow};

use super::columns::{parsed, unsigned};
use super::db::{AuditEvent, Batch, DecodeError, Durability, FromRow, Row, Tx, sql, values};
use super::{Store, StoreError};

/// The limit of accounts.
const MAX_USERS: i64 = 10_000;

/// An account.
#[derive(Clone, PartialEq, Eq)]
pub struct UserRow {
    /// Its name.
    pub name: UserName,
    /// Its role.
    pub role: Role,
    /// The password's hash. `None` for an account that has only tokens.
    pub password_hash: Option<String>,
    /// When it was created, Unix milliseconds.
    pub created_at: i64,
    /// When it was disabled, Unix milliseconds. None while it is enabled.
    pub disabled_at: Option<i64>,
    /// When it was deleted, Unix milliseconds. A deleted account is disabled, and keeps nothing but its name. None
    /// while it exists.
    pub deleted_at: Option<i64>,
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

impl FromRow for UserRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            name: parsed(row, "name")?,
            role: parsed(row, "role")?,
            password_hash: row.get("password_hash")?,
            created_at: row.get("created_at")?,
            disabled_at: row.get("disabled_at")?,
            deleted_at: row.get("deleted_at")?,
        })
    }
}

/// An account with its sessions and tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRow {
    /// The account.
    pub user: UserRow,
    /// The number of valid sessions.
    pub sessions: u64,
    /// The number of valid API tokens.
    pub tokens: u64,
    /// When any of them was last used, to the minute, Unix milliseconds. None if none was used.
    pub last_used_at: Option<i64>,
}

impl FromRow for AccountRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            user: UserRow::from_row(row)?,
            sessions: unsigned(row, "sessions")?,
            tokens: unsigned(row, "tokens")?,
            last_used_at: row.get("last_used_at")?,
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
    /// A first password was to be set, and there is one by now.
    #[error("the account has a password by now")]
    IsSet,
    /// It is the only admin who can sign in.
    #[error("this is the last admin who can sign in")]
    LastAdmin,
    /// The limit of accounts is reached.
    #[error("there are too many accounts")]
    TooMany,
    /// The name is taken.
    #[error("there is an account of that name")]
    Taken,
    /// The name belonged to an account that was deleted.
    #[error("an account of that name was deleted, and no name is given twice")]
    Deleted,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The audit event of a new account.
#[derive(Serialize)]
struct UserCreated<'a> {
    user: &'a UserName,
    role: Role,
    has_password: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a UserName>,
}

impl Store {
    /// Returns whether any account exists.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn has_users(&self) -> Result<bool, StoreError> {
        self.db().exists(sql("SELECT 1 FROM users LIMIT 1")).await
    }

    /// Creates the first account, an admin.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if an account exists already.
    pub async fn create_first_admin(
        &self,
        user: &UserName,
        password_hash: Option<String>,
        now: i64,
    ) -> Result<(), StoreError> {
        let has_password = password_hash.is_some();
        let body = UserCreated { user, role: Role::Admin, has_password, by: None };
        let event = AuditEvent::new(now, "user.created", String::new(), &body)?;
        let user = user.clone();
        self.db()
            .apply(
                Batch::new(Durability::Fsync)
                    .statement(
                        sql("INSERT INTO users (name, role, password_hash, created_at) \
                     SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT 1 FROM users)")
                        .with(values![user.as_str(), Role::Admin.as_str(), password_hash, now])
                        .exactly(1),
                    )
                    .event(event),
            )
            .await?
            .or(StoreError::Conflict)
            .map(drop)
    }

    /// Returns an account by its name.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn user(&self, name: &UserName) -> Result<UserRow, StoreError> {
        self.db().query_one(sql("SELECT * FROM users WHERE name = $1").bind(name.as_str())).await
    }

    /// Returns every account that is not deleted, by name.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn accounts(&self, now: i64) -> Result<Vec<AccountRow>, StoreError> {
        let text = accounts!(
            "WHERE users.deleted_at IS NULL GROUP BY users.name ORDER BY users.name LIMIT $2"
        );
        self.db().query(sql(text).bind(now).bind(MAX_USERS)).await
    }

    /// Returns an account with its sessions and tokens.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn account(&self, name: &UserName, now: i64) -> Result<AccountRow, StoreError> {
        let text = accounts!("WHERE users.name = $2 GROUP BY users.name");
        self.db().query_one(sql(text).bind(now).bind(name.as_str())).await
    }

    /// Creates an account.
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
        let event = AuditEvent::new(now, "user.created", String::new(), &body)?;
        let name = name.clone();
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                match find_any(tx, &name).await? {
                    Some(UserRow { deleted_at: Some(_), .. }) => {
                        return Ok(Err(ChangeUserError::Deleted));
                    }
                    Some(_) => return Ok(Err(ChangeUserError::Taken)),
                    None => {}
                }
                let (users,): (i64,) = tx.query_one(sql("SELECT COUNT(*) FROM users")).await?;
                if users >= MAX_USERS {
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

/// Returns an account that is not deleted.
async fn find(tx: &mut Tx, name: &UserName) -> Result<Option<UserRow>, StoreError> {
    Ok(find_any(tx, name).await?.filter(|user| user.deleted_at.is_none()))
}

/// Returns an account, deleted or not.
async fn find_any(tx: &mut Tx, name: &UserName) -> Result<Option<UserRow>, StoreError> {
    tx.query_optional(sql("SELECT * FROM users WHERE name = $1").bind(name.as_str())).await
}

async fn insert(
    tx: &mut Tx,
    name: &UserName,
    role: Role,
    password_hash: Option<String>,
    now: i64,
) -> Result<(), StoreError> {
    tx.execute(
        sql("INSERT INTO users (name, role, password_hash, created_at) VALUES ($1, $2, $3, $4)")
            .with(values![name.as_str(), role.as_str(), password_hash, now]),
    )
    .await?;
    Ok(())
}
