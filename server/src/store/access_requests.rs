//! Requests for access, and the temporary grants that answer them.

mod active;
mod decide;
mod row;

use orion_domain::{AccessRequestId, UserName};
use serde::Serialize;

use super::columns::{id_range, only};
use super::db::{AuditEvent, Durability, Tx, sql, values};
use super::{Store, StoreError};

pub(in crate::store) use decide::end_access_of;
pub use decide::{AccessAnswer, AnswerAccessError};
pub use row::{AccessRequestRow, AccessRequestState};

/// The most open requests of one person.
const MAX_OPEN_REQUESTS_OF_PERSON: i64 = 10;
/// The most open requests of everybody.
const MAX_OPEN_REQUESTS: i64 = 500;
/// The most requests in a list.
const PAGE: i64 = 500;

/// Why a request was not stored.
#[derive(Debug, thiserror::Error)]
pub enum NewRequestError {
    /// The person has as many open requests as may be.
    #[error("you have {MAX_OPEN_REQUESTS_OF_PERSON} open requests, and more are not taken")]
    TooManyOwn,
    /// There are as many open requests as may be.
    #[error("{MAX_OPEN_REQUESTS} requests are open, and more are not taken")]
    TooMany,
    /// The person has asked for the same before.
    #[error("you have asked for the same: request {0} is open")]
    SameOpen(AccessRequestId),
    /// The store failed.
    #[error("the database could not be written")]
    Store(#[from] StoreError),
}

/// The audit event of a request for access.
#[derive(Serialize)]
struct AccessEvent<'a> {
    request_id: AccessRequestId,
    requester: &'a UserName,
    device: &'a str,
    tool: &'a str,
    grants: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a UserName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
}

/// Records what happened to a request.
fn record(
    tx: &mut Tx,
    kind: &'static str,
    row: &AccessRequestRow,
    (by, reason): (Option<&UserName>, &str),
    now: i64,
) -> Result<(), StoreError> {
    let body = AccessEvent {
        request_id: row.id,
        requester: &row.requester,
        device: row.device.1.as_str(),
        tool: &row.grant.tool,
        grants: row.grant.lines(),
        by,
        until: row.granted_until,
        reason,
    };
    tx.record(AuditEvent::new(now, kind, row.call.to_string(), &body)?);
    Ok(())
}

impl Store {
    /// Stores a request for access.
    ///
    /// # Errors
    /// [`NewRequestError`].
    pub async fn request_access(&self, row: AccessRequestRow) -> Result<(), NewRequestError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let now = row.created_at;
                let own: Vec<AccessRequestRow> = tx
                    .query(
                        sql("SELECT * FROM access_requests INDEXED BY access_requests_open \
                             WHERE state = 'open' AND requester = $1 AND expires_at > $2 LIMIT $3")
                        .with(values![&row.requester, now, PAGE]),
                    )
                    .await?;
                if let Some(same) = own.iter().find(|it| it.digest == row.digest) {
                    return Ok(Err(NewRequestError::SameOpen(same.id)));
                }
                if i64::try_from(own.len()).unwrap_or(i64::MAX) >= MAX_OPEN_REQUESTS_OF_PERSON {
                    return Ok(Err(NewRequestError::TooManyOwn));
                }
                let (open,): (i64,) = tx
                    .query_one(
                        sql("SELECT COUNT(*) FROM access_requests INDEXED BY \
                         access_requests_open WHERE state = 'open' AND expires_at > $1")
                        .bind(now),
                    )
                    .await?;
                if open >= MAX_OPEN_REQUESTS {
                    return Ok(Err(NewRequestError::TooMany));
                }
                insert(tx, &row).await?;
                record(tx, "access.requested", &row, (Some(&row.requester), &row.reason), now)?;
                Ok(Ok(()))
            })
        })
        .await?
    }

    /// Returns a request by its id or a prefix of the id, as people give it.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Ambiguous`] if several ids have this prefix.
    pub async fn find_access_request(&self, id: &str) -> Result<AccessRequestRow, StoreError> {
        let (from, to) = id_range(id).ok_or(StoreError::NotFound)?;
        let text = "SELECT * FROM access_requests WHERE id >= $1 AND id < $2 LIMIT 2";
        only(self.db().query(sql(text).bind(from).bind(to)).await?)
    }

    /// Returns the newest requests of a person, or of everybody, newest first, at most 500.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn access_requests(
        &self,
        of: Option<&UserName>,
        all: bool,
    ) -> Result<Vec<AccessRequestRow>, StoreError> {
        // Withdrawn ones never push out one that counts.
        let statement = match (of, all) {
            (Some(user), true) => sql("SELECT * FROM access_requests WHERE requester = $1 \
                 ORDER BY id DESC LIMIT $2")
            .with(values![user, PAGE]),
            (Some(user), false) => sql("SELECT * FROM access_requests WHERE requester = $1 \
                 AND state IN ('open', 'granted') ORDER BY id DESC LIMIT $2")
            .with(values![user, PAGE]),
            (None, true) => {
                sql("SELECT * FROM access_requests ORDER BY id DESC LIMIT $1").bind(PAGE)
            }
            (None, false) => {
                sql("SELECT * FROM access_requests INDEXED BY access_requests_current \
                 WHERE state IN ('open', 'granted') ORDER BY id DESC LIMIT $1")
                .bind(PAGE)
            }
        };
        self.db().query(statement).await
    }
}

async fn insert(tx: &mut Tx, row: &AccessRequestRow) -> Result<(), StoreError> {
    let grant = serde_json::to_string(&row.grant).map_err(|_| StoreError::Corrupt)?;
    tx.execute(
        sql("INSERT INTO access_requests (id, state, requester, call_id, device_id, device_name, \
             grant_json, digest, reason, seconds, created_at, expires_at) \
             VALUES ($1, 'open', $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)")
        .with(values![
            row.id,
            &row.requester,
            row.call,
            row.device.0,
            row.device.1.as_str(),
            grant,
            row.digest,
            row.reason.as_str(),
            row.seconds,
            row.created_at,
            row.expires_at
        ]),
    )
    .await?;
    Ok(())
}
