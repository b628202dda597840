//! The record of devices that ask to be enrolled by a code. The requests themselves are in memory; what is stored of
//! them is their audit, and the one-use token that a confirmation makes.

use std::net::IpAddr;

use orion_domain::UserName;
use orion_domain::id::InviteId;
use serde::Serialize;

use super::db::AuditEvent;
use super::invites::creation;
use super::{NewInvite, Store, StoreError};

/// A request as the audit log has it. The code is not part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EnrollmentRequestRecord {
    /// The request's id, which is the id of its token once it is confirmed.
    pub request_id: InviteId,
    /// The address of the device's connection.
    pub address: IpAddr,
    /// The name that the device would get.
    pub device_name: String,
    /// Its hostname, as it states it.
    pub hostname: String,
    /// Its platform, as it states it.
    pub platform: String,
    /// The fingerprint of its key.
    pub public_key_fingerprint: String,
    /// Who decided. None where nobody has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<UserName>,
}

impl Store {
    /// Makes the token of a confirmed request, with the audit event that says who confirmed it.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn confirm_enrollment(
        &self,
        new: NewInvite,
        record: &EnrollmentRequestRecord,
    ) -> Result<(), StoreError> {
        let kind = "enrollment.confirmed";
        let event = AuditEvent::new(new.created_at, kind, String::new(), record)?;
        self.db().apply(creation(new)?.event(event)).await.map(drop)
    }
}
