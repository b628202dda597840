//! Replays stored calls under the active policy and a candidate, and reports only what differs. Both get
//! the same calls, the same ceilings and the same clock, so that each difference comes from the policy.

mod change;
mod device;
mod limits;
mod result;

use std::collections::HashMap;
use std::sync::Arc;

use orion_domain::{Decision, DeviceId};
use orion_policy::PolicyFile;

use super::run_blocking;
use crate::active_policy::terms;
use crate::fleet::{DeviceSnapshot, Devices};
use crate::people::HeavyRequest;
use crate::store::{RecordedCall, StoreError, first_id_at};

pub use change::Change;
use device::{ReplayDevice, parsed};
pub use result::{Counts, ReplayResult, ReplaySample};

/// The most calls that are replayed: the newest.
const MAX_CALLS: u64 = 100_000;

/// The most samples of each kind of change.
const MAX_SAMPLES: usize = 20;

/// One device under both policies.
#[derive(Debug)]
struct Pair {
    before: ReplayDevice,
    after: ReplayDevice,
}

/// The state of a replay; calls are evaluated one by one, oldest first.
#[derive(Debug)]
pub struct Replay {
    devices: HashMap<DeviceId, Pair>,
    sampled: HashMap<Change, usize>,
    replayed: ReplayResult,
}

impl Replay {
    /// Compiles both policies for each of these devices, once.
    #[must_use]
    pub fn new(devices: &[Arc<DeviceSnapshot>], candidate: &PolicyFile) -> Self {
        let pair = |known: &Arc<DeviceSnapshot>| {
            // Dangerous mode and a read-only backend are part of neither policy.
            let before = known.under(known.terms.policy.clone());
            let after = known.under(terms(candidate, &known.name, &known.terms.labels));
            (known.id, Pair { before: ReplayDevice::new(before), after: ReplayDevice::new(after) })
        };
        let devices = devices
            .iter()
            .filter(|known| known.facts.is_some() && !known.has_ended())
            .map(pair)
            .collect();
        Self { devices, sampled: HashMap::new(), replayed: ReplayResult::default() }
    }

    /// Evaluates the next call.
    pub fn judge(&mut self, call: &RecordedCall) {
        let pair = call.device.and_then(|device| self.devices.get_mut(&device));
        let evaluated = pair.and_then(|pair| {
            let parsed = parsed(call, &pair.before.known)?;
            let before = pair.before.judge(call, &parsed);
            let after = pair.after.judge(call, &parsed);
            Some((pair.after.known.name.clone(), before.decision, after))
        });
        let counts = &mut self.replayed.counts;
        let Some((device, before, after)) = evaluated else {
            counts.not_evaluated += 1;
            return;
        };
        let asks = |decision| u64::from(matches!(decision, Decision::Ask | Decision::DryRunFirst));
        counts.calls += 1;
        counts.asked_before += asks(before);
        counts.asked_after += asks(after.decision);
        for note in &after.notes {
            if let Some(would) = note.would {
                *self.replayed.logged.entry((note.rule.clone(), would)).or_default() += 1;
            }
        }
        let Some(change) = Change::between(before, after.decision) else { return };
        *match change {
            Change::AllowedToDenied => &mut counts.allowed_to_denied,
            Change::DeniedToAllowed => &mut counts.denied_to_allowed,
            Change::DeniedToAsk => &mut counts.denied_to_ask,
            Change::AllowedToAsk => &mut counts.allowed_to_ask,
            Change::AskToAllowed => &mut counts.ask_to_allowed,
        } += 1;
        let sampled = self.sampled.entry(change).or_default();
        if *sampled < MAX_SAMPLES {
            *sampled += 1;
            self.replayed.samples.push(ReplaySample {
                call: call.id,
                device,
                tool: call.tool.clone(),
                user: call.caller.user.to_string(),
                before,
                after: after.decision,
                rule: after.rule,
                recorded: call.decision.clone(),
                at: call.created_at,
            });
        }
    }

    /// Returns the result.
    #[must_use]
    pub fn end(self) -> ReplayResult {
        self.replayed
    }
}

/// Replays the calls that were made since `since` (Unix milliseconds), the newest 100,000 of them. Each
/// page runs on a blocking thread, so that other requests continue. Dropping the future ends the replay
/// with the page.
///
/// # Errors
/// The database cannot be read.
pub async fn replay(
    devices: &Devices,
    candidate: PolicyFile,
    since: i64,
    request: &HeavyRequest,
) -> Result<ReplayResult, StoreError> {
    let known = devices.fleet.all();
    let mut replay = run_blocking(request, move || Replay::new(&known, &candidate)).await?;
    let mut after = first_id_at(since);
    let newest = devices.store.newest_calls_begin(MAX_CALLS, None).await?;
    let mut evaluated_since = None;
    if let Some((id, at)) = newest.filter(|(id, _)| *id > after) {
        after = id;
        evaluated_since = Some(at);
    }
    loop {
        let page = devices.store.calls_after(&after, None).await?;
        let Some(last) = page.last() else { break };
        after = last.id.to_string();
        replay = run_blocking(request, move || {
            page.iter().for_each(|call| replay.judge(call));
            replay
        })
        .await?;
    }
    Ok(ReplayResult { evaluated_since, ..replay.end() })
}
