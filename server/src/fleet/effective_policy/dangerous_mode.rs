//! The dangerous mode: a person lifts the tool list and the capabilities of a device for a limited time.
//! Ceiling and rules of the device are not lifted.

use orion_domain::Caller;

use super::refresh;
use crate::clock::now_ms;
use crate::fleet::Devices;
use crate::store::{DeviceRow, DeviceState, ModeRow, StoreError};

/// Default duration of the dangerous mode, in seconds.
const DANGEROUS_SECONDS: u64 = 15 * 60;

/// Maximum duration of the dangerous mode, in seconds.
const MAX_DANGEROUS_SECONDS: i64 = 8 * 3600;

/// Why a device's mode was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModeError {
    /// The reason is missing.
    #[error("a reason is required: it is shown to everybody while the mode lasts, and recorded")]
    NoReason,
    /// The duration is too long.
    #[error("this mode lasts 8 hours at most, and a second at least")]
    TooLong,
    /// The device is not approved.
    #[error("the device is {} and takes no calls", .0.as_str())]
    Held(DeviceState),
    /// The store failed.
    #[error("the database could not be written; nothing was changed")]
    Store(#[from] StoreError),
}

/// Lifts a device's tool list and capabilities for a time, by default 15 minutes.
///
/// # Errors
/// [`ModeError`].
pub async fn begin_dangerous(
    devices: &Devices,
    row: &DeviceRow,
    seconds: u64,
    by: &Caller,
    reason: &str,
) -> Result<(), ModeError> {
    let reason: String = orion_domain::strip_hidden(reason, 500);
    if reason.trim().is_empty() {
        return Err(ModeError::NoReason);
    }
    if row.state != DeviceState::Approved {
        return Err(ModeError::Held(row.state));
    }
    let seconds = if seconds == 0 { DANGEROUS_SECONDS } else { seconds };
    let milliseconds = i64::try_from(seconds).ok().filter(|s| *s <= MAX_DANGEROUS_SECONDS);
    let milliseconds = milliseconds.ok_or(ModeError::TooLong)? * 1000;
    let at = now_ms();
    let (device, by) = (row.id, by.user.clone());
    tracing::warn!(device = %row.name, %by, seconds, "a device's tool list and capabilities are lifted");
    let mode = ModeRow { device, until: at + milliseconds, by, at, reason };
    let shared = devices.clone();
    let work = async move {
        shared.store.begin_dangerous(mode).await?;
        refresh(&shared, device).await?;
        Ok(())
    };
    devices.tasks.run_to_completion(work).await
}

/// Ends a device's dangerous mode. Where it has ended in the store, the device is reloaded.
///
/// # Errors
/// The store failed.
pub async fn end_dangerous(
    devices: &Devices,
    row: &DeviceRow,
    by: &Caller,
    reason: &str,
) -> Result<(), StoreError> {
    let reason: String = orion_domain::strip_hidden(reason, 500);
    let (shared, device, by) = (devices.clone(), row.id, by.user.clone());
    let work = async move {
        shared.store.end_dangerous(device, &by, &reason, now_ms()).await?;
        refresh(&shared, device).await?;
        Ok(())
    };
    devices.tasks.run_to_completion(work).await
}

/// Ends the dangerous modes that have expired, and updates the devices.
///
/// # Errors
/// The store failed.
pub async fn end_modes(devices: &Devices, now_ms: i64) -> Result<usize, StoreError> {
    let ended = devices.store.end_modes_that_are_over(now_ms).await?;
    let count = ended.len();
    for device in ended {
        tracing::info!(%device, "a device is held strictly again");
        // A device whose reload fails is stale, and allows nothing.
        refresh(devices, device).await.ok();
    }
    Ok(count)
}
