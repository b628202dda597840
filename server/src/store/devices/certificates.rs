//! The issued certificates, so that revoking a device revokes all of its certificates.

use orion_domain::DeviceId;
use serde::Serialize;

use super::{DeviceState, lookup};
use crate::store::writer::{Durability, Event};
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
        let event = Event::new(now, "certificate.issued", String::new(), &body)?;
        let (serial, authority) = (serial.to_owned(), authority.to_owned());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let device = lookup::by_id(tx, id).await?.ok_or(StoreError::NotFound)?;
                if device.state != DeviceState::Approved {
                    return Err(StoreError::Conflict);
                }
                sqlx::query(
                    "UPDATE devices SET certificate_serial = $1, certificate_not_after = $2 \
                     WHERE id = $3",
                )
                .bind(&serial)
                .bind(not_after)
                .bind(id.to_string())
                .execute(&mut tx.conn)
                .await?;
                sqlx::query("DELETE FROM certificates WHERE not_after < $1")
                    .bind(now)
                    .execute(&mut tx.conn)
                    .await?;
                sqlx::query(
                    "INSERT INTO certificates (serial, device_id, authority, issued_at, not_after) \
                     VALUES ($1, $2, $3, $4, $5)",
                )
                .bind(serial)
                .bind(id.to_string())
                .bind(authority)
                .bind(now)
                .bind(not_after)
                .execute(&mut tx.conn)
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
        Ok(sqlx::query_scalar(
            "SELECT serial FROM certificates WHERE device_id = $1 ORDER BY serial",
        )
        .bind(id.to_string())
        .fetch_all(self.reads())
        .await?)
    }

    /// Returns the serial numbers of all rejected and revoked devices.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn revoked_serials(&self) -> Result<Vec<String>, StoreError> {
        Ok(sqlx::query_scalar(
            "SELECT serial FROM certificates JOIN devices ON devices.id = certificates.device_id \
             WHERE devices.state IN ('rejected', 'revoked') ORDER BY serial",
        )
        .fetch_all(self.reads())
        .await?)
    }
}
