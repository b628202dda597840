//! The passkeys of people: their public keys, and how often they signed.

use orion_domain::{Role, UserName};
use serde::Serialize;

use super::columns::parsed;
use super::db::{AuditEvent, DecodeError, Durability, FromRow, Row, Statement, Tx, sql, values};
use super::{Store, StoreError};
use crate::webauthn::{NewPasskey, PublicKey};

/// The most passkeys of one person.
pub const MAX_PASSKEYS: i64 = 10;

/// A passkey of a person. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyRow {
    /// The id of its credential, base64url.
    pub id: String,
    /// Whose it is.
    pub user: UserName,
    /// What its person calls it.
    pub name: String,
    /// Its public key.
    pub key: PublicKey,
    /// The name to which it is bound.
    pub relying_party: String,
    /// How often it signed; zero where it does not count.
    pub sign_count: u32,
    /// When it was registered.
    pub created_at: i64,
    /// When it last signed an approval. None if it has not.
    pub last_used_at: Option<i64>,
}

/// Why a passkey was not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NewPasskeyError {
    /// The credential is registered already.
    #[error("this passkey is registered already")]
    Taken,
    /// The person has as many as one may have.
    #[error("you have {MAX_PASSKEYS} passkeys, the maximum; remove one that you do not need")]
    TooMany,
    /// There is no such enabled account.
    #[error("there is no such enabled account")]
    NoUser,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The audit event of a passkey that is registered or removed.
#[derive(Serialize)]
struct PasskeyChanged<'a> {
    user: &'a UserName,
    passkey: &'a str,
    name: &'a str,
    algorithm: &'static str,
    by: &'a UserName,
}

impl FromRow for PasskeyRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        let key = PublicKey::stored(row.get("algorithm")?, row.get("public_key")?);
        Ok(Self {
            id: row.get("id")?,
            user: parsed(row, "user_name")?,
            name: row.get("name")?,
            key: key.ok_or_else(|| DecodeError::new("public_key", "not a public key"))?,
            relying_party: row.get("relying_party")?,
            sign_count: row.get("sign_count")?,
            created_at: row.get("created_at")?,
            last_used_at: row.get("last_used_at")?,
        })
    }
}

impl Store {
    /// Stores a new passkey of an enabled account.
    ///
    /// # Errors
    /// See [`NewPasskeyError`].
    pub async fn add_passkey(
        &self,
        user: &UserName,
        name: &str,
        new: NewPasskey,
        now: i64,
    ) -> Result<PasskeyRow, NewPasskeyError> {
        let (user, name) = (user.clone(), name.to_owned());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let NewPasskey { id, key, relying_party, sign_count } = new;
                let (own, taken): (i64, i64) = tx
                    .query_one(
                        sql("SELECT (SELECT COUNT(*) FROM passkeys WHERE user_name = $1), \
                         (SELECT COUNT(*) FROM passkeys WHERE id = $2)")
                        .with(values![user.as_str(), id.as_str()]),
                    )
                    .await?;
                if taken > 0 {
                    return Ok(Err(NewPasskeyError::Taken));
                }
                if own >= MAX_PASSKEYS {
                    return Ok(Err(NewPasskeyError::TooMany));
                }
                let stored: Option<PasskeyRow> = tx
                    .query_optional(
                        sql("INSERT INTO passkeys (id, user_name, name, algorithm, public_key, \
                         relying_party, sign_count, created_at) \
                         SELECT $1, name, $3, $4, $5, $6, $7, $8 FROM users \
                         WHERE name = $2 AND disabled_at IS NULL RETURNING *")
                        .with(values![
                            id,
                            user.as_str(),
                            name,
                            key.algorithm().number(),
                            key.as_bytes().to_vec(),
                            relying_party,
                            sign_count,
                            now
                        ]),
                    )
                    .await?;
                let Some(row) = stored else { return Ok(Err(NewPasskeyError::NoUser)) };
                tx.record(changed("passkey.registered", &row, &user, now)?);
                Ok(Ok(row))
            })
        })
        .await?
    }

    /// Returns the passkeys of a person, the oldest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn passkeys(&self, user: &UserName) -> Result<Vec<PasskeyRow>, StoreError> {
        let text = "SELECT * FROM passkeys WHERE user_name = $1 ORDER BY created_at, id LIMIT $2";
        self.db().query(sql(text).with(values![user.as_str(), MAX_PASSKEYS])).await
    }

    /// Returns a passkey of a person by its id. None if the person has no such passkey.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn passkey(
        &self,
        user: &UserName,
        id: &str,
    ) -> Result<Option<PasskeyRow>, StoreError> {
        let text = "SELECT * FROM passkeys WHERE id = $1 AND user_name = $2";
        self.db().query_optional(sql(text).with(values![id, user.as_str()])).await
    }

    /// Removes a passkey of a person. Approvals that wait for others no longer count its signature.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]: the person has no such passkey.
    pub async fn remove_passkey(
        &self,
        user: &UserName,
        id: &str,
        by: &UserName,
        now: i64,
    ) -> Result<PasskeyRow, StoreError> {
        let (user, id, by) = (user.clone(), id.to_owned(), by.clone());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let removed: Option<PasskeyRow> = tx
                    .query_optional(
                        sql("DELETE FROM passkeys WHERE id = $1 AND user_name = $2 RETURNING *")
                            .with(values![id, user.as_str()]),
                    )
                    .await?;
                let row = removed.ok_or(StoreError::NotFound)?;
                tx.record(changed("passkey.removed", &row, &by, now)?);
                Ok(row)
            })
        })
        .await
    }

    /// Returns the roles of the enabled people who have a passkey, one for each person.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn roles_with_passkeys(&self) -> Result<Vec<Role>, StoreError> {
        let text = "SELECT role FROM users WHERE disabled_at IS NULL AND EXISTS \
             (SELECT 1 FROM passkeys WHERE user_name = users.name)";
        let rows = self.db().rows(sql(text)).await?;
        Ok(rows.iter().map(|row| parsed(row, "role")).collect::<Result<_, _>>()?)
    }
}

fn changed(
    kind: &'static str,
    row: &PasskeyRow,
    by: &UserName,
    now: i64,
) -> Result<AuditEvent, StoreError> {
    let PasskeyRow { id, user, name, key, .. } = row;
    let algorithm = key.algorithm().as_str();
    AuditEvent::new(
        now,
        kind,
        String::new(),
        &PasskeyChanged { user, passkey: id, name, algorithm, by },
    )
}

/// Returns how often a person's passkey signed. None if the person has no such passkey.
pub(super) async fn sign_count(
    tx: &mut Tx,
    user: &UserName,
    id: &str,
) -> Result<Option<u32>, StoreError> {
    let text = "SELECT sign_count FROM passkeys WHERE id = $1 AND user_name = $2";
    let found: Option<(u32,)> =
        tx.query_optional(sql(text).with(values![id, user.as_str()])).await?;
    Ok(found.map(|(count,)| count))
}

/// Returns the statement that stores that a passkey signed.
pub(super) fn signed(id: &str, sign_count: u32, now: i64) -> Statement {
    sql("UPDATE passkeys SET sign_count = $1, last_used_at = $2 WHERE id = $3")
        .with(values![sign_count, now, id])
}

/// Returns the statement that deletes all passkeys of a person.
pub(super) fn delete_all(user: &UserName) -> Statement {
    sql("DELETE FROM passkeys WHERE user_name = $1").bind(user)
}
