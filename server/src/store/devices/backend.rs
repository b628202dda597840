//! The row of the backend itself, as the target of calls. It has no certificate and no limit of an owner, and
//! never enrols.

use orion_domain::{DeviceId, DeviceName};
use serde::Serialize;
use serde_json::value::RawValue;

use super::raw;
use crate::store::db::{AuditEvent, Durability, sql, values};
use crate::store::{Store, StoreError};

#[derive(Serialize)]
struct BackendAdded<'a> {
    device_id: DeviceId,
    name: &'a str,
    grants: Option<&'a RawValue>,
}

impl Store {
    /// Stores the facts of the backend. The first time, adds its row with these grants. Both are JSON.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if a device of an earlier version has the backend's name.
    pub async fn record_backend(
        &self,
        facts: &str,
        grants: &str,
        os: &'static str,
        now: i64,
    ) -> Result<(), StoreError> {
        let (facts, grants) = (facts.to_owned(), grants.to_owned());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let (id, name) = (DeviceId::BACKEND, DeviceName::BACKEND);
                let changed = tx
                    .execute(
                        sql("UPDATE devices SET facts_json = $1, os = $2, agent_version = $3 \
                         WHERE id = $4")
                        .with(values![&facts, os, env!("CARGO_PKG_VERSION"), id]),
                    )
                    .await?;
                if changed > 0 {
                    return Ok(());
                }
                let is_taken = tx
                    .exists(
                        sql("SELECT 1 FROM devices WHERE name = $1 \
                         AND state NOT IN ('rejected', 'revoked')")
                        .bind(name),
                    )
                    .await?;
                if is_taken {
                    return Err(StoreError::Conflict);
                }
                tx.execute(
                    sql("INSERT INTO devices (id, name, state, os, hostname, agent_version, \
                     public_key_fingerprint, fingerprint_words, certificate_request, generation, \
                     facts_json, grants_json, invite_id, created_at) \
                     VALUES ($1, $2, 'approved', $3, '', $4, '', '', '', 0, $5, $6, '', $7)")
                    .with(values![id, name, os, env!("CARGO_PKG_VERSION"), &facts, &grants, now]),
                )
                .await?;
                let body = BackendAdded { device_id: id, name, grants: raw(&grants) };
                tx.record(AuditEvent::new(now, "device.backend_added", String::new(), &body)?);
                Ok(())
            })
        })
        .await
    }
}
