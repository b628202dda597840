//! Recorded calls judged again, by the policy that holds and by another: what would be different, and
//! nothing else. Both are given the same calls, the same ceilings and the same clock, so that what
//! differs comes from the policy alone.

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

use super::{beside, terms};
use crate::backend::Backend;
use crate::fleet::DeviceSnapshot;
use crate::people::HeavyRequest;
use crate::store::{RecordedCall, StoreError, first_id_at};
use limits::Limits;

/// The most calls that are judged: the newest.
const MOST: u64 = 100_000;
/// How many samples there are of each kind.
const SAMPLES: usize = 20;

/// What would become of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// Ran or asked, and would be denied.
    AllowedToDenied,
    /// Denied, and would run by itself.
    DeniedToAllowed,
    /// Denied, and would ask.
    DeniedToAsk,
    /// Ran by itself, and would ask.
    AllowedToAsk,
    /// Asked, and would run by itself.
    AskToAllowed,
}

impl Change {
    /// What differs between two decisions; `None` where nothing does.
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

/// How many calls came to what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Judged by both.
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
    /// Questions by the policy that holds.
    pub asked_before: u64,
    /// Questions by the other.
    pub asked_after: u64,
    /// Calls that nobody can judge again.
    pub not_judged: u64,
}

impl Counts {
    /// How many would come to the same.
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

/// A call that would be decided otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplaySample {
    /// The call.
    pub call: CallId,
    /// Where.
    pub device: DeviceName,
    /// The tool.
    pub tool: String,
    /// For whom.
    pub user: String,
    /// By the policy that holds.
    pub before: Decision,
    /// By the other.
    pub after: Decision,
    /// The line that would decide.
    pub rule: String,
    /// What was decided when it was made.
    pub recorded: String,
    /// When it was made, Unix milliseconds.
    pub at: i64,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct ReplayResult {
    /// How many.
    pub counts: Counts,
    /// At most 20 of each kind, the oldest.
    pub samples: Vec<ReplaySample>,
    /// Where there were too many calls: when the oldest was made that was judged.
    pub judged_since: Option<i64>,
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

/// Calls judged one after the other, oldest first.
#[derive(Debug)]
pub struct Replay {
    devices: HashMap<DeviceId, Pair>,
    taken: HashMap<Change, usize>,
    replayed: ReplayResult,
}

impl Replay {
    /// Compiles both policies for each of these devices, once.
    #[must_use]
    pub fn new(devices: &[Arc<DeviceSnapshot>], candidate: &PolicyFile) -> Self {
        let pair = |known: &Arc<DeviceSnapshot>| {
            // A mode that lasts a while is no part of either policy.
            let before = known.under(known.terms.policy.clone());
            let after = known.under(terms(candidate, &known.name));
            (known.id, Pair { before: ReplayDevice::new(before), after: ReplayDevice::new(after) })
        };
        let devices = devices
            .iter()
            .filter(|known| known.facts.is_some() && !known.has_ended())
            .map(pair)
            .collect();
        Self { devices, taken: HashMap::new(), replayed: ReplayResult::default() }
    }

    /// Judges the next call.
    pub fn judge(&mut self, call: &RecordedCall) {
        let pair = call.device.and_then(|device| self.devices.get_mut(&device));
        let judged = pair.and_then(|pair| {
            let parsed = parsed(call, &pair.before.known)?;
            let before = pair.before.judge(call, &parsed);
            let after = pair.after.judge(call, &parsed);
            Some((pair.after.known.name.clone(), before.decision, after))
        });
        let counts = &mut self.replayed.counts;
        let Some((device, before, after)) = judged else {
            counts.not_judged += 1;
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
        let taken = self.taken.entry(change).or_default();
        if *taken < SAMPLES {
            *taken += 1;
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

    /// What came of it.
    #[must_use]
    pub fn end(self) -> ReplayResult {
        self.replayed
    }
}

/// Arguments that the call had, by the tool's own type. One that never had any cannot be judged.
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
        // It names the paths of what it does, so no other is touched.
        Some(undo) => parsed.undoing(undo, &Touches::nothing()).ok()?,
        None => parsed,
    };
    Some(parsed)
}

/// A judgement.
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
            // How much a preview told is not on record with the call, so nothing is known of it.
            counted: None,
        };
        let earlier = self.limits.earlier(&question, policy);
        question.counted = Some(Counted { earlier: &earlier, quantity: None });
        let evaluation: Evaluation = evaluate(&question, policy);
        let decision = evaluation.decision();
        // One that people refused would be refused again; of one that was denied nobody knows.
        let would_run = call.was_admitted || call.decision == Decision::Deny.as_str();
        if decision != Decision::Deny && would_run {
            self.limits.admitted(&question, policy);
        }
        ReplayDecision { decision, rule: evaluation.rule_name(&question, policy) }
    }
}

/// Judges the calls that were made since a time, the newest 100,000 of them: a page at a time, on a thread
/// that no other request waits for. Dropping this ends it with the page.
///
/// # Errors
/// The record cannot be read.
pub async fn replay(
    backend: &Backend,
    candidate: PolicyFile,
    since: i64,
    turn: &HeavyRequest,
) -> Result<ReplayResult, StoreError> {
    let devices = backend.fleet.all();
    let mut replay = beside(turn, move || Replay::new(&devices, &candidate)).await?;
    let mut after = first_id_at(since);
    let newest = backend.store.newest_calls_begin(MOST, None).await?;
    let mut judged_since = None;
    if let Some((id, at)) = newest.filter(|(id, _)| *id > after) {
        after = id;
        judged_since = Some(at);
    }
    loop {
        let page = backend.store.calls_after(&after, None).await?;
        let Some(last) = page.last() else { break };
        after = last.id.to_string();
        replay = beside(turn, move || {
            page.iter().for_each(|call| replay.judge(call));
            replay
        })
        .await?;
    }
    Ok(ReplayResult { judged_since, ..replay.end() })
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
