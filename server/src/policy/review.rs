//! Reviews how a device's grants are used: who grants each entry, how often it is used, and what would be
//! enough.

mod entries;
mod path;
mod usage;

use std::sync::Arc;

use orion_domain::CallId;

use super::run_blocking;
use crate::clock::now_ms;
use crate::fleet::{DeviceSnapshot, Devices};
use crate::people::HeavyRequest;
use crate::store::{StoreError, first_id_at};

use entries::entries;
use usage::GrantUsage;

/// The days of calls that are read.
pub const DAYS: u32 = 30;

/// How long after a device's enrolment no grant is proposed to be removed for want of use, in milliseconds: a week.
const NEW_FOR_MS: i64 = 7 * 24 * 3_600_000;

/// The most calls that are read, the newest of those days.
const MAX_CALLS: u64 = 100_000;

/// One entry of a device's grants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantReview {
    /// `tool`, `path` or `app`.
    pub kind: &'static str,
    /// The entry as it is written.
    pub entry: String,
    /// Whether the backend grants it.
    pub server: bool,
    /// Whether the ceiling of the device allows it.
    pub ceiling: bool,
    /// The number of admitted calls that used it.
    pub uses: u64,
    /// Unix milliseconds. 0 if it was never used.
    pub last_used_at: i64,
    /// Findings of the linter and of the device.
    pub lint: Vec<String>,
    /// A narrower entry, or to remove it. Empty if the entry fits.
    pub proposal: String,
    /// The newest calls that used it.
    pub proof: Vec<CallId>,
}

/// A device's grants, and how many calls were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// The number of calls.
    pub calls: u64,
    /// When the oldest call that was read was made, Unix milliseconds. None if no call was left out.
    pub looked_since: Option<i64>,
    /// One review for each entry.
    pub grants: Vec<GrantReview>,
}

/// Reviews the calls of the last 30 days, the newest 100,000 of them. Each page runs on a blocking thread,
/// so that other requests continue. Dropping the future ends the review with the page.
///
/// # Errors
/// The database cannot be read.
pub async fn review(
    devices: &Devices,
    known: &Arc<DeviceSnapshot>,
    request: &HeavyRequest,
) -> Result<Review, StoreError> {
    let mut after = first_id_at(now_ms() - i64::from(DAYS) * 24 * 3_600_000);
    let newest = devices.store.newest_calls_begin(MAX_CALLS, Some(known.id)).await?;
    let (mut uses, mut looked_since) = (GrantUsage::default(), None);
    if let Some((id, at)) = newest.filter(|(id, _)| *id > after) {
        after = id;
        looked_since = Some(at);
    }
    loop {
        let page = devices.store.calls_after(&after, Some(known.id)).await?;
        let Some(last) = page.last() else { break };
        after = last.id.to_string();
        let known = Arc::clone(known);
        uses = run_blocking(request, move || {
            page.iter().for_each(|call| uses.see(&known, call));
            uses
        })
        .await?;
    }
    let row = devices.store.device(&known.id.to_string()).await?;
    let mut grants = entries(known, &uses, &row.found);
    if row.created_at > now_ms() - NEW_FOR_MS {
        // Nobody had time to use them.
        grants.iter_mut().filter(|it| it.uses == 0).for_each(|it| it.proposal.clear());
    }
    Ok(Review { calls: uses.calls, looked_since, grants })
}
