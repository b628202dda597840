//! The temporary grants that are active on devices. A grant counts while the requester is enabled, and the
//! person who gave it is an enabled admin.

use std::collections::HashMap;

use orion_domain::{DeviceId, TemporaryGrant, UserName};

use super::row::AccessRequestRow;
use crate::store::columns::parsed;
use crate::store::db::{sql, values};
use crate::store::{Store, StoreError};

/// The most grants of all devices that are read.
const MAX_GRANTS: i64 = 2_000_000;

impl Store {
    /// Returns the temporary grants that are active on one device, oldest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn temporary_grants_of(
        &self,
        device: DeviceId,
        now: i64,
    ) -> Result<Vec<TemporaryGrant>, StoreError> {
        let rows: Vec<AccessRequestRow> = self
            .db()
            .query(
                sql("SELECT access_requests.* FROM access_requests \
                     INDEXED BY access_requests_granted \
                     JOIN users AS maker ON maker.name = decided_by \
                     JOIN users AS person ON person.name = requester \
                     WHERE state = 'granted' AND device_id = $1 AND granted_until > $2 \
                     AND maker.role = 'admin' AND maker.disabled_at IS NULL \
                     AND person.disabled_at IS NULL ORDER BY +access_requests.id LIMIT $3")
                .with(values![device, now, MAX_GRANTS]),
            )
            .await?;
        Ok(rows.into_iter().map(|row| row.grant).collect())
    }

    /// Returns the temporary grants that are active on every device, in one read.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn temporary_grants_by_device(
        &self,
        now: i64,
    ) -> Result<HashMap<DeviceId, Vec<TemporaryGrant>>, StoreError> {
        let rows: Vec<AccessRequestRow> = self
            .db()
            .query(
                sql("SELECT access_requests.* FROM access_requests \
                     INDEXED BY access_requests_granted \
                     JOIN users AS maker ON maker.name = decided_by \
                     JOIN users AS person ON person.name = requester \
                     WHERE state = 'granted' AND granted_until > $1 \
                     AND maker.role = 'admin' AND maker.disabled_at IS NULL \
                     AND person.disabled_at IS NULL ORDER BY +access_requests.id LIMIT $2")
                .with(values![now, MAX_GRANTS]),
            )
            .await?;
        let mut grants: HashMap<DeviceId, Vec<TemporaryGrant>> = HashMap::new();
        for row in rows {
            grants.entry(row.device.0).or_default().push(row.grant);
        }
        Ok(grants)
    }

    /// Returns the devices with active grants that this person gave or got.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn devices_with_grants_of(
        &self,
        user: &UserName,
        now: i64,
    ) -> Result<Vec<DeviceId>, StoreError> {
        let rows = self
            .db()
            .rows(
                sql("SELECT DISTINCT device_id FROM access_requests \
                     INDEXED BY access_requests_granted WHERE state = 'granted' \
                     AND granted_until > $1 AND (decided_by = $2 OR requester = $2)")
                .bind(now)
                .bind(user.as_str()),
            )
            .await?;
        Ok(rows.iter().map(|row| parsed(row, "device_id")).collect::<Result<_, _>>()?)
    }
}
