//! The issued certificates, so that revoking a device revokes all of its certificates.

use orion_domain::DeviceId;
use serde::Serialize;

use super::{DeviceState, lookup};
use crate::store::db::{AuditEvent, Durability, sql, values};
use crate::store::{Store, StoreError};

#[derive(Serialize)]
struct Issued<'a> {
    device_id: DeviceId,
    serial: &'a str,
    authority: &'a str,
    not_after: i64,
}

impl Store {
    /// Stores an issued certificate by its serial number and the fingerprint of the authority that signed
    /// it, both hexadecimal. Deletes expired certificates.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is no such device. [`StoreError::Conflict`] if the device is not
    /// approved at this moment, whatever it was at the request, or the serial is taken. The certificate
    /// must not be handed out then: revoking the device would not revoke it.
    pub async fn record_certificate(
        &self,
        id: DeviceId,
        serial: &str,
        authority: &str,
        not_after: i64,
        now: i64,
    ) -> Result<(), StoreError> {
        let body = Issued { device_id: id, serial, authority, not_after };
        let event = AuditEvent::new(now, "certificate.issued", String::new(), &body)?;
        let (serial, authority) = (serial.to_owned(), authority.to_owned());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let device = lookup::by_id(tx, id).await?.ok_or(StoreError::NotFound)?;
                if device.state != DeviceState::Approved {
                    return Err(StoreError::Conflict);
                }
                tx.execute(
                    sql("UPDATE devices SET certificate_serial = $1, certificate_not_after = $2 \
                     WHERE id = $3")
                    .with(values![&serial, not_after, id]),
                )
                .await?;
                tx.execute(sql("DELETE FROM certificates WHERE not_after < $1").bind(now)).await?;
                tx.execute(
                    sql("INSERT INTO certificates (serial, device_id, authority, \
                 issued_at, not_after) VALUES ($1, $2, $3, $4, $5)")
                    .with(values![serial, id, authority, now, not_after]),
                )
                .await?;
                tx.record(event);
                Ok(())
            })
        })
        .await
    }

    /// Returns the serial numbers of a device's certificates that may still be valid.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn certificates_of(&self, id: DeviceId) -> Result<Vec<String>, StoreError> {
        let rows: Vec<(String,)> = self
            .db()
            .query(
                sql("SELECT serial FROM certificates WHERE device_id = $1 ORDER BY serial")
                    .bind(id),
            )
            .await?;
        Ok(rows.into_iter().map(|(serial,)| serial).collect())
    }

    /// Returns the serial numbers of all rejected and revoked devices.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn revoked_serials(&self) -> Result<Vec<String>, StoreError> {
        let rows: Vec<(String,)> = self.db().query(sql(
            "SELECT serial FROM certificates JOIN devices ON devices.id = certificates.device_id \
             WHERE devices.state IN ('rejected', 'revoked') ORDER BY serial",
        )).await?;
        Ok(rows.into_iter().map(|(serial,)| serial).collect())
    }
}
