//! An admin's answer to a request for access, and its early end.

use orion_domain::{AccessRequestId, DeviceId, Digest, Role, UserName};

use super::row::{AccessRequestRow, AccessRequestState};
use super::{PAGE, record};
use crate::store::approvals::role_of;
use crate::store::db::{Durability, Tx, sql, values};
use crate::store::{Store, StoreError};

/// The most temporary grants that are active on one device.
const MAX_GRANTS_ON_DEVICE: i64 = 200;

/// An admin's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessAnswer {
    /// The request.
    pub id: AccessRequestId,
    /// The digest of what the admin was shown.
    pub digest: Digest,
    /// Until when it is granted, Unix milliseconds. `None` to refuse it.
    pub until: Option<i64>,
    /// The admin.
    pub by: UserName,
    /// The admin's reason. Empty if none was given.
    pub reason: String,
}

/// Why an answer does not count. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum AnswerAccessError {
    /// There is no such request.
    #[error("there is no such access request")]
    NotFound,
    /// It was answered before, or nobody may answer it any more.
    #[error("this request is {} already", .0.as_str())]
    NotOpen(AccessRequestState),
    /// The request does not ask for what was shown.
    #[error("this request asks for something else than what was shown, so nothing was granted")]
    OtherDigest,
    /// The person is no admin.
    #[error("only an admin can do this")]
    NotAdmin,
    /// Another admin has to grant one's own request.
    #[error("you made this request yourself, so another admin must grant it")]
    OwnRequest,
    /// The device has as many temporary grants as may be.
    #[error("this device has the maximum of {MAX_GRANTS_ON_DEVICE} temporary grants")]
    TooMany,
    /// The store failed.
    #[error("the database could not be written")]
    Store(#[from] StoreError),
}

impl Store {
    /// Grants or refuses a request for access.
    ///
    /// # Errors
    /// [`AnswerAccessError`].
    pub async fn answer_access_request(
        &self,
        answer: AccessAnswer,
        now: i64,
    ) -> Result<AccessRequestRow, AnswerAccessError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let Some(row) = find(tx, answer.id).await? else {
                    return Ok(Err(AnswerAccessError::NotFound));
                };
                if let Some(refused) = refused(tx, &row, &answer, now).await? {
                    return Ok(Err(refused));
                }
                settle(tx, row, &answer, now).await.map(Ok)
            })
        })
        .await?
    }

    /// Ends a request before its time: an open one is withdrawn, and a granted one counts no more.
    ///
    /// # Errors
    /// [`AnswerAccessError`].
    pub async fn end_access_request(
        &self,
        id: AccessRequestId,
        by: &UserName,
        now: i64,
    ) -> Result<AccessRequestRow, AnswerAccessError> {
        let by = by.clone();
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let Some(mut row) = find(tx, id).await? else {
                    return Ok(Err(AnswerAccessError::NotFound));
                };
                match row.state_at(now) {
                    AccessRequestState::Open | AccessRequestState::Granted => {
                        end(tx, &mut row, &by, now).await?;
                        Ok(Ok(row))
                    }
                    state @ (AccessRequestState::Refused
                    | AccessRequestState::Withdrawn
                    | AccessRequestState::Expired
                    | AccessRequestState::Ended) => Ok(Err(AnswerAccessError::NotOpen(state))),
                }
            })
        })
        .await?
    }

    /// Marks requests that nobody answered in time, and grants that are over, at most 500 of each. Returns the
    /// rows; the caller reloads the devices.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn end_due_access_requests(
        &self,
        now: i64,
    ) -> Result<Vec<AccessRequestRow>, StoreError> {
        let is_due = self
            .db()
            .exists(
                sql("SELECT 1 FROM access_requests INDEXED BY access_requests_due \
                     WHERE state IN ('open', 'granted') AND due_at <= $1")
                .bind(now),
            )
            .await?;
        if !is_due {
            return Ok(Vec::new());
        }
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let mut rows: Vec<AccessRequestRow> = tx
                    .query(
                        sql("SELECT * FROM access_requests INDEXED BY access_requests_due \
                             WHERE state IN ('open', 'granted') AND due_at <= $1 LIMIT $2")
                        .bind(now)
                        .bind(PAGE),
                    )
                    .await?;
                for row in &mut rows {
                    row.state = row.state_at(now);
                    tx.execute(
                        sql("UPDATE access_requests SET state = $1 WHERE id = $2")
                            .with(values![row.state.as_str(), row.id]),
                    )
                    .await?;
                    let is_granted = row.state == AccessRequestState::Ended;
                    let kind = if is_granted { "access.ended" } else { "access.expired" };
                    record(tx, kind, row, (None, ""), now)?;
                }
                Ok(rows)
            })
        })
        .await
    }
}

/// Ends what a person asked for, was granted and has granted, so that nothing of it counts again when the account
/// is enabled later. Returns the devices whose grants ended.
///
/// # Errors
/// The database cannot be written.
pub(in crate::store) async fn end_access_of(
    tx: &mut Tx,
    person: &UserName,
    by: &UserName,
    now: i64,
) -> Result<Vec<DeviceId>, StoreError> {
    let rows: Vec<AccessRequestRow> = tx
        .query(
            sql("SELECT * FROM access_requests INDEXED BY access_requests_current \
                 WHERE state IN ('open', 'granted') AND (requester = $1 OR decided_by = $1)")
            .bind(person.as_str()),
        )
        .await?;
    let mut devices = Vec::new();
    for mut row in rows {
        end(tx, &mut row, by, now).await?;
        devices.extend((row.state == AccessRequestState::Ended).then_some(row.device.0));
    }
    Ok(devices)
}

/// Ends an open or granted request.
async fn end(
    tx: &mut Tx,
    row: &mut AccessRequestRow,
    by: &UserName,
    now: i64,
) -> Result<(), StoreError> {
    let kind = if row.state == AccessRequestState::Open {
        row.state = AccessRequestState::Withdrawn;
        "access.withdrawn"
    } else {
        row.state = AccessRequestState::Ended;
        "access.ended"
    };
    // What is over already keeps its end.
    row.granted_until = row.granted_until.map(|until| until.min(now));
    tx.execute(
        sql("UPDATE access_requests SET state = $1, granted_until = $2 WHERE id = $3")
            .with(values![row.state.as_str(), row.granted_until, row.id]),
    )
    .await?;
    record(tx, kind, row, (Some(by), ""), now)
}

async fn find(tx: &mut Tx, id: AccessRequestId) -> Result<Option<AccessRequestRow>, StoreError> {
    tx.query_optional(sql("SELECT * FROM access_requests WHERE id = $1").bind(id)).await
}

async fn refused(
    tx: &mut Tx,
    row: &AccessRequestRow,
    answer: &AccessAnswer,
    now: i64,
) -> Result<Option<AnswerAccessError>, StoreError> {
    // The role may have changed since the person was authenticated.
    if role_of(tx, &answer.by).await? != Some(Role::Admin) {
        return Ok(Some(AnswerAccessError::NotAdmin));
    }
    let state = row.state_at(now);
    if state != AccessRequestState::Open {
        return Ok(Some(AnswerAccessError::NotOpen(state)));
    }
    if answer.until.is_none() {
        return Ok(None);
    }
    if row.digest != answer.digest || row.grant.digest(&row.device.0.to_string()) != answer.digest {
        return Ok(Some(AnswerAccessError::OtherDigest));
    }
    if row.requester == answer.by && is_another_admin(tx, &answer.by).await? {
        return Ok(Some(AnswerAccessError::OwnRequest));
    }
    let (held,): (i64,) = tx
        .query_one(
            sql("SELECT COUNT(*) FROM access_requests INDEXED BY access_requests_granted \
                 WHERE state = 'granted' AND device_id = $1 AND granted_until > $2")
            .bind(row.device.0)
            .bind(now),
        )
        .await?;
    Ok((held >= MAX_GRANTS_ON_DEVICE).then_some(AnswerAccessError::TooMany))
}

async fn is_another_admin(tx: &mut Tx, by: &UserName) -> Result<bool, StoreError> {
    let (others,): (i64,) = tx
        .query_one(
            sql("SELECT COUNT(*) FROM users WHERE role = 'admin' AND disabled_at IS NULL \
                 AND name <> $1")
            .bind(by.as_str()),
        )
        .await?;
    Ok(others > 0)
}

async fn settle(
    tx: &mut Tx,
    mut row: AccessRequestRow,
    answer: &AccessAnswer,
    now: i64,
) -> Result<AccessRequestRow, StoreError> {
    let AccessAnswer { id: _, digest: _, until, by, reason } = answer;
    row.state = match until {
        Some(_) => AccessRequestState::Granted,
        None => AccessRequestState::Refused,
    };
    (row.decided_by, row.decided_at) = (Some(by.clone()), Some(now));
    (row.decision_reason, row.granted_until) = (Some(reason.clone()), *until);
    row.grant.expires_at = until.unwrap_or_default();
    tx.execute(
        sql("UPDATE access_requests SET state = $1, decided_by = $2, decided_at = $3, \
             decision_reason = $4, granted_until = $5 WHERE id = $6")
        .with(values![row.state.as_str(), by, now, reason.as_str(), *until, row.id]),
    )
    .await?;
    let kind = if until.is_some() { "access.granted" } else { "access.refused" };
    record(tx, kind, &row, (Some(by), reason), now)?;
    Ok(row)
}
