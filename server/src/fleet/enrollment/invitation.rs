//! Invitations: creates one, and the token that lets a device use it. Whether a token is accepted is decided
//! in the store, when it is redeemed.

use orion_domain::id::InviteId;
use orion_domain::{Caller, DeviceName, Digest, Grants};
use orion_policy::Labels;
use orion_wire::EnrollmentToken;

use super::Enrollment;
use crate::clock::{new_uuid, now_ms};
use crate::people::random_secret;
use crate::store::{InviteScope, NewInvite, StoreError};

/// Default lifetime of an invitation, in seconds.
const INVITATION_SECONDS: u64 = 3600;

/// Maximum lifetime of an invitation, in seconds.
const MAX_INVITATION_SECONDS: u64 = 30 * 24 * 3600;

/// The content of an invitation.
#[derive(Debug, Clone, Default)]
pub struct Invitation {
    /// The device's name. None: the device suggests one.
    pub name: Option<DeviceName>,
    /// Lifetime, in seconds; 0 for the default.
    pub valid_seconds: u64,
    /// How many devices can use it; 0 for one.
    pub uses: u32,
    /// Whether devices are approved immediately.
    pub preapproved: bool,
    /// The grants that devices start with.
    pub grants: Grants,
    /// The labels of the devices.
    pub labels: Labels,
    /// Which devices may use it.
    pub scope: InviteScope,
}

/// The most devices of one token.
pub const MAX_USES: u32 = 1000;

/// Creates an invitation and its token.
///
/// # Errors
/// The store failed.
pub async fn invite(
    enrollment: &Enrollment,
    by: &Caller,
    invitation: Invitation,
) -> Result<EnrollmentToken, StoreError> {
    let now = now_ms();
    let seconds = match invitation.valid_seconds {
        0 => INVITATION_SECONDS,
        seconds => seconds.min(MAX_INVITATION_SECONDS),
    };
    let expires_at = now + i64::try_from(seconds).unwrap_or(0) * 1000;
    let (invite_id, secret) = (InviteId::new(new_uuid()), random_secret());
    enrollment
        .devices
        .store
        .create_invite(NewInvite {
            id: invite_id,
            secret_hash: Digest::of(secret.expose().as_bytes()),
            name: invitation.name,
            grants: serde_json::to_string(&invitation.grants).unwrap_or_default(),
            labels: invitation.labels,
            scope: invitation.scope,
            preapproved: invitation.preapproved,
            uses: invitation.uses.clamp(1, MAX_USES),
            expires_at,
            created_by: by.user.clone(),
            created_at: now,
        })
        .await?;
    Ok(EnrollmentToken {
        addresses: enrollment.addresses.clone(),
        // All active authorities: the token works now, and after the older authority is retired.
        pins: enrollment
            .authority
            .fingerprints()
            .iter()
            .filter_map(|pin| pin.parse().ok())
            .collect(),
        invite_id,
        secret,
        expires_at,
    })
}
