//! Finds approval requests.

use orion_domain::{ApprovalId, DeviceId, Role};

use super::{ApprovalRow, MAX_OPEN, PAGE, with_votes};
use crate::store::columns::{digest_option, id_range, only, parsed, parsed_option};
use crate::store::db::{DecodeError, FromRow, Row, sql, values};
use crate::store::{Store, StoreError};

/// An open approval request of a call that is no step of a plan, and who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenRequest {
    /// The request.
    pub id: ApprovalId,
    /// The device of the call.
    pub device: DeviceId,
    /// The requester's role now. None if the account is disabled.
    pub requester_role: Option<Role>,
    /// Whether the session or token of the call is still valid.
    pub is_signed_in: bool,
}

impl FromRow for OpenRequest {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            id: parsed(row, "id")?,
            device: parsed(row, "device_id")?,
            requester_role: parsed_option(row, "role")?,
            is_signed_in: digest_option(row, "token_hash")?.is_none()
                || digest_option(row, "valid_token")?.is_some(),
        })
    }
}

impl Store {
    /// Returns the open approval requests of calls that are no steps of plans, as they are at `now`.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn open_requests(&self, now: i64) -> Result<Vec<OpenRequest>, StoreError> {
        let text = "SELECT approvals.id, approvals.device_id, users.role, calls.token_hash, \
             tokens.hash AS valid_token FROM approvals \
             JOIN calls ON calls.id = approvals.call_id \
             LEFT JOIN users ON users.name = approvals.requester AND users.disabled_at IS NULL \
             LEFT JOIN tokens ON tokens.hash = calls.token_hash AND tokens.expires_at > $2 \
             WHERE approvals.state = 'open' AND approvals.plan_id IS NULL LIMIT $1";
        self.db().query(sql(text).with(values![MAX_OPEN, now])).await
    }

    /// Returns an approval request.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn approval(&self, id: ApprovalId) -> Result<ApprovalRow, StoreError> {
        let text = concat!("SELECT *, ", with_votes!(), " FROM approvals WHERE id = $1");
        self.db().query_one(sql(text).bind(id)).await
    }

    /// Returns an approval request by its id or a prefix of the id, as people give it.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Ambiguous`] if several ids have this prefix.
    pub async fn find_approval(&self, id: &str) -> Result<ApprovalRow, StoreError> {
        let (from, to) = id_range(id).ok_or(StoreError::NotFound)?;
        let text = concat!(
            "SELECT *, ",
            with_votes!(),
            " FROM approvals WHERE id >= $1 AND id < $2 LIMIT 2"
        );
        only(self.db().query(sql(text).bind(from).bind(to)).await?)
    }

    /// Returns the ids of the newest 500 approval requests, newest first; with `open_only` only open ones.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn approval_ids(&self, open_only: bool) -> Result<Vec<ApprovalId>, StoreError> {
        let text = if open_only {
            "SELECT id FROM approvals WHERE state = 'open' ORDER BY +id DESC LIMIT $1"
        } else {
            "SELECT id FROM approvals ORDER BY id DESC LIMIT $1"
        };
        let rows = self.db().rows(sql(text).bind(PAGE)).await?;
        Ok(rows.iter().map(|row| parsed(row, "id")).collect::<Result<_, _>>()?)
    }

    /// Returns the approved requests whose call has not been started, after the one with this id; oldest
    /// first, at most 500.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn approved_and_unused(
        &self,
        after: Option<ApprovalId>,
    ) -> Result<Vec<ApprovalRow>, StoreError> {
        self.db()
            .query(
                sql(concat!(
                    "SELECT approvals.*, ",
                    with_votes!(),
                    " FROM calls JOIN approvals ON approvals.id = calls.approval_id \
             WHERE calls.closed_at IS NULL AND calls.state = 'awaiting_approval' \
             AND approvals.state = 'approved' AND approvals.consumed_at IS NULL \
             AND approvals.plan_id IS NULL AND approvals.id > $2 ORDER BY approvals.id LIMIT $1"
                ))
                .bind(PAGE)
                .bind(after.map(|id| id.to_string()).unwrap_or_default()),
            )
            .await
    }
}
