//! Replays stored calls under the active policy and a candidate, and reports only what differs. Both get
//! the same calls, the same ceilings and the same clock, so that each difference comes from the policy.

mod limits;

use std::collections::HashMap;
use std::sync::Arc;

use orion_catalog::{ParsedCall, find};
use orion_domain::rule::Counted;
use orion_domain::{
    CallId, Decision, DeviceId, DeviceName, Evaluation, Question, Touches, evaluate,
};
use orion_policy::PolicyFile;
use serde_json::Value;

use super::run_blocking;
use crate::active_policy::terms;
use crate::fleet::{DeviceSnapshot, Devices};
use crate::people::HeavyRequest;
use crate::store::{RecordedCall, StoreError, first_id_at};
use limits::Limits;

/// The most calls that are replayed: the newest.
const MAX_CALLS: u64 = 100_000;
/// The most samples of each kind of change.
const MAX_SAMPLES: usize = 20;

/// How a call's decision would change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// The call ran or needed approval, and would be denied.
    AllowedToDenied,
    /// The call was denied, and would run without approval.
    DeniedToAllowed,
    /// The call was denied, and would need approval.
    DeniedToAsk,
    /// The call ran without approval, and would need approval.
    AllowedToAsk,
    /// The call needed approval, and would run without.
    AskToAllowed,
}

impl Change {
    /// Returns the change between two decisions. None if they are equal.
    #[must_use]
    pub const fn between(before: Decision, after: Decision) -> Option<Self> {
        use Decision::{Allow, Ask, Deny, DryRunFirst};
        match (before, after) {
            (Allow, Allow) | (Ask | DryRunFirst, Ask | DryRunFirst) | (Deny, Deny) => None,
            (Allow | Ask | DryRunFirst, Deny) => Some(Self::AllowedToDenied),
            (Deny, Allow) => Some(Self::DeniedToAllowed),
            (Deny, Ask | DryRunFirst) => Some(Self::DeniedToAsk),
            (Allow, Ask | DryRunFirst) => Some(Self::AllowedToAsk),
            (Ask | DryRunFirst, Allow) => Some(Self::AskToAllowed),
        }
    }
}

/// The numbers of replayed calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Evaluated under both policies.
    pub calls: u64,
    /// See [`Change::AllowedToDenied`].
    pub allowed_to_denied: u64,
    /// See [`Change::DeniedToAllowed`].
    pub denied_to_allowed: u64,
    /// See [`Change::DeniedToAsk`].
    pub denied_to_ask: u64,
    /// See [`Change::AllowedToAsk`].
    pub allowed_to_ask: u64,
    /// See [`Change::AskToAllowed`].
    pub ask_to_allowed: u64,
    /// Need approval under the active policy.
    pub asked_before: u64,
    /// Need approval under the candidate.
    pub asked_after: u64,
    /// Cannot be evaluated again.
    pub not_evaluated: u64,
}

impl Counts {
    /// Returns how many calls have the same decision under both.
    #[must_use]
    pub const fn unchanged(&self) -> u64 {
        self.calls
            - self.allowed_to_denied
            - self.denied_to_allowed
            - self.denied_to_ask
            - self.allowed_to_ask
            - self.ask_to_allowed
    }
}

/// A call with a different decision.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplaySample {
    /// The id of the call.
    pub call: CallId,
    /// The device of the call.
    pub device: DeviceName,
    /// The tool.
    pub tool: String,
    /// The person that the call was made for.
    pub user: String,
    /// The decision under the active policy.
    pub before: Decision,
    /// The decision under the candidate.
    pub after: Decision,
    /// The name of the rule that decides under the candidate.
    pub rule: String,
    /// The decision when the call was made.
    pub recorded: String,
    /// Unix milliseconds.
    pub at: i64,
}

/// The result of a replay.
#[derive(Debug, Clone, Default)]
pub struct ReplayResult {
    /// The numbers of calls.
    pub counts: Counts,
    /// At most 20 of each kind, the oldest.
    pub samples: Vec<ReplaySample>,
    /// When the oldest replayed call was made, Unix milliseconds. None if no call was left out.
    pub evaluated_since: Option<i64>,
}

/// One device under both policies.
#[derive(Debug)]
struct Pair {
    before: ReplayDevice,
    after: ReplayDevice,
}

/// One device under one policy.
#[derive(Debug)]
struct ReplayDevice {
    known: Arc<DeviceSnapshot>,
    limits: Limits,
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
            // Dangerous mode is temporary and part of neither policy.
            let before = known.under(known.terms.policy.clone());
            let after = known.under(terms(candidate, &known.name));
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

/// Parses the stored arguments into the tool's own type. None if the call never had valid ones.
fn parsed(call: &RecordedCall, known: &DeviceSnapshot) -> Option<ParsedCall> {
    let (spec, alias) = find(&call.tool)?;
    let Ok(Value::Object(mut arguments)) = serde_json::from_slice(&call.arguments) else {
        return None;
    };
    if let Some(alias) = alias {
        (alias.adapt)(&mut arguments);
    }
    spec.rename_arguments(&mut arguments);
    let parsed = spec.parse(arguments, known.places()?).ok()?;
    let parsed = match call.undo.clone() {
        // The undo names the paths of what it does, so no other path is touched.
        Some(undo) => parsed.undoing(undo, &Touches::nothing()).ok()?,
        None => parsed,
    };
    Some(parsed)
}

/// The decision of one policy.
struct ReplayDecision {
    decision: Decision,
    rule: String,
}

impl ReplayDevice {
    fn new(known: DeviceSnapshot) -> Self {
        Self { limits: Limits::of(&known.policy), known: Arc::new(known) }
    }

    fn judge(&mut self, call: &RecordedCall, parsed: &ParsedCall) -> ReplayDecision {
        let policy = &self.known.policy;
        let mut question = Question {
            tool: parsed.facts,
            touches: Some(&parsed.touches),
            caller: &call.caller,
            device: &self.known.name,
            dry_run: call.dry_run,
            confirmed: parsed.confirmed,
            at: self.known.timezone.moment(call.created_at),
            tainted: call.tainted,
            raises: &[],
            // The quantity that a preview reported is not stored with the call, so it is unknown.
            counted: None,
        };
        let earlier = self.limits.earlier(&question, policy);
        question.counted = Some(Counted { earlier: &earlier, quantity: None });
        let evaluation: Evaluation = evaluate(&question, policy);
        let decision = evaluation.decision();
        // A call that a person denied would be denied again. A call that the policy denied counts, because
        // no person decided it.
        let would_run = call.was_admitted || call.decision == Decision::Deny.as_str();
        if decision != Decision::Deny && would_run {
            self.limits.admitted(&question, policy);
        }
        ReplayDecision { decision, rule: evaluation.rule_name(&question, policy) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use Decision::{Allow, Ask, Deny, DryRunFirst};

    #[test]
    fn every_pair_of_decisions_is_one_kind_of_change_or_none() {
        let all = [Allow, DryRunFirst, Ask, Deny];
        let kinds = all.map(|before| all.map(|after| Change::between(before, after)));
        let denied = Some(Change::AllowedToDenied);
        let (asks, free) = (Some(Change::AllowedToAsk), Some(Change::AskToAllowed));
        assert_eq!(
            kinds,
            [
                [None, asks, asks, denied],
                [free, None, None, denied],
                [free, None, None, denied],
                [
                    Some(Change::DeniedToAllowed),
                    Some(Change::DeniedToAsk),
                    Some(Change::DeniedToAsk),
                    None
                ],
            ]
        );
    }
}
