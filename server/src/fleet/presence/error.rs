//! Why a device that showed a valid certificate is not accepted.

use crate::store::{DeviceState, StoreError};

/// Why an authenticated device is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The device is not in the database.
    #[error("the backend does not know this device; enrol it again")]
    Unknown,
    /// The device is not approved.
    #[error("this device is {}. Ask an admin of the backend about it", .0.as_str())]
    Held(DeviceState),
    /// The certificate is for another key than the approved one.
    #[error(
        "this certificate is for another key than this device enrolled with; enrol it again with a token of `orion devices invite`"
    )]
    OtherKey,
    /// A newer connection of the same device has said hello already.
    #[error("a newer connection of this device has taken over")]
    Overtaken,
    /// The connection counter ran backwards.
    #[error(
        "this device's connection counter ran backwards, as it does when a state folder was copied or restored. It is in quarantine, and so is its copy: an admin of the backend approves it again, or revokes it so that it is enrolled again"
    )]
    Copied,
    /// The store failed.
    #[error("the database could not be written")]
    Store(#[from] StoreError),
}
