//! Converts the policy's values to their wire form.

use orion_domain::evaluate::{Layer, Reason};
use orion_domain::look_alike::look_alikes_of_call;
use orion_domain::{Caller, Decision, Envelope, ToolError};
use orion_policy::{Finding, Severity};
use orion_wire::{call_state, v1};
use serde_json::Value;

use crate::active_policy::Active;
use crate::pipeline::explain::{DeviceVerdict, Explanation};
use crate::policy::{DeviceChange, ReplayResult, ReplaySample};
use crate::store::PolicyRow;

/// The length of a week, in milliseconds.
const WEEK_MS: f64 = 7.0 * 24.0 * 3600.0 * 1000.0;
/// The trace line where no device reported how much a call would touch.
const UNMEASURED: &str =
    "preview: a rule decides by how much the call touches; until the device tells, it is too much";

pub(super) fn version(row: &PolicyRow, active: &Active) -> v1::PolicyVersion {
    v1::PolicyVersion {
        version: row.version,
        sha256: row.sha256.to_string(),
        applied_by: row.by.to_string(),
        applied_at: row.at,
        note: row.note.clone(),
        restores: row.restores.unwrap_or_default(),
        active: row.version == active.version(),
    }
}

/// Returns the version that is active after an attempt.
pub(super) fn held(row: Option<PolicyRow>, active: &Active) -> Option<v1::PolicyVersion> {
    row.as_ref().or(active.row.as_ref()).map(|row| version(row, active))
}

pub(super) fn finding(finding: &Finding) -> v1::Finding {
    let Finding { severity, file: _, line, column, code, message, hint } = finding;
    v1::Finding {
        is_error: *severity == Severity::Error,
        code: code.as_str().to_owned(),
        line: *line,
        column: *column,
        message: message.clone(),
        hint: hint.clone(),
    }
}

pub(super) fn change(change: DeviceChange) -> v1::DeviceChange {
    let DeviceChange { device, lines } = change;
    v1::DeviceChange { device: device.to_string(), lines }
}

#[expect(clippy::cast_precision_loss, reason = "how many a week is no exact number")]
pub(super) fn replayed(
    replayed: ReplayResult,
    since: i64,
    now: i64,
    took_us: u64,
) -> v1::TestPolicyResponse {
    let ReplayResult { counts, samples, logged, evaluated_since } = replayed;
    let from = evaluated_since.unwrap_or(since);
    let weeks = ((now - from).max(1) as f64 / WEEK_MS).max(1.0 / 7.0);
    v1::TestPolicyResponse {
        findings: Vec::new(),
        calls: counts.calls,
        allowed_to_denied: counts.allowed_to_denied,
        denied_to_allowed: counts.denied_to_allowed,
        denied_to_ask: counts.denied_to_ask,
        would_now_ask: counts.allowed_to_ask + counts.denied_to_ask,
        would_no_longer_ask: counts.ask_to_allowed,
        unchanged: counts.unchanged(),
        not_evaluated: counts.not_evaluated,
        approvals_per_week_before: counts.asked_before as f64 / weeks,
        approvals_per_week_after: counts.asked_after as f64 / weeks,
        logged: logged.into_iter().map(logged_rule).collect(),
        samples: samples.into_iter().map(sample).collect(),
        evaluated_since: evaluated_since.unwrap_or_default(),
        took_us,
    }
}

fn logged_rule(((rule, would), calls): ((String, &'static str), u64)) -> v1::LoggedRule {
    v1::LoggedRule { rule, would: would.to_owned(), calls }
}

fn sample(sample: ReplaySample) -> v1::PolicySample {
    let ReplaySample { call, device, tool, user, before, after, rule, recorded, at } = sample;
    v1::PolicySample {
        call_id: call.to_string(),
        device: device.to_string(),
        tool,
        user,
        before: before.as_str().to_owned(),
        after: after.as_str().to_owned(),
        rule,
        recorded,
        at,
    }
}

pub(super) fn verdict(verdict: DeviceVerdict) -> v1::DeviceVerdict {
    match verdict {
        DeviceVerdict::NotAsked(why) => {
            v1::DeviceVerdict { not_asked: why, ..v1::DeviceVerdict::default() }
        }
        DeviceVerdict::Asked(reply) => v1::DeviceVerdict {
            not_asked: String::new(),
            call_id: reply.call.to_string(),
            state: call_state(reply.state).into(),
            result: reply.result.into(),
        },
    }
}

/// Returns the device's verdict as the last line of the trace, and the error where it denies the call.
fn device_line(verdict: &v1::DeviceVerdict) -> Option<(v1::Evidence, Option<ToolError>)> {
    if verdict.call_id.is_empty() {
        return None;
    }
    let envelope: Option<Envelope> = serde_json::from_slice(&verdict.result).ok();
    let error = envelope.and_then(|envelope| envelope.error);
    let refuses = verdict.state == i32::from(v1::CallState::Refused);
    let name = match &error {
        Some(error) if refuses => {
            let reported = error.details.get("rule").and_then(Value::as_str);
            reported.map_or_else(|| format!("device: {}", error.code), str::to_owned)
        }
        Some(_) | None => "device: allowed".to_owned(),
    };
    let decision = if refuses { Decision::Deny } else { Decision::Allow };
    let line = v1::Evidence {
        layer: "device".to_owned(),
        decision: decision.as_str().to_owned(),
        name,
        deciding: false,
    };
    Some((line, error.filter(|_| refuses)))
}

/// Returns the hints for a call that the device denies and the backend would allow.
fn at_the_device(refusal: &ToolError) -> Vec<String> {
    let rule = refusal.details.get("rule").and_then(Value::as_str);
    if refusal.hints.is_empty() && rule == Some("device: links") {
        return vec!["name the place that the link leads to, if it is granted".to_owned()];
    }
    refusal.hints.iter().map(ToString::to_string).collect()
}

pub(super) fn explained(
    explained: &Explanation,
    subject: &Caller,
    verdict: v1::DeviceVerdict,
) -> v1::ExplainCallResponse {
    let known = explained.target.as_ref().map(|(_, known)| known);
    let source_line = known.map(|known| known.policy_source()).filter(|source| !source.is_empty());
    let line = |(line, name, deciding): &(orion_domain::evaluate::Evidence, String, bool)| {
        let name = match &source_line {
            // A built-in denial has no line in the policy.
            Some(source) if line.layer == Layer::Grants && name.starts_with("grants") => {
                format!("{name} ({source})")
            }
            Some(_) | None => name.clone(),
        };
        let says = if matches!(line.reason, Reason::Logged { .. }) {
            "log"
        } else if matches!(line.reason, Reason::Notifies { .. }) {
            "notify"
        } else {
            line.decision.as_str()
        };
        v1::Evidence {
            layer: line.layer.as_str().to_owned(),
            decision: says.to_owned(),
            name,
            deciding: *deciding,
        }
    };
    let mut evidence: Vec<_> = explained.trace.iter().map(line).collect();
    if explained.is_unmeasured {
        evidence.push(v1::Evidence {
            layer: "preview".to_owned(),
            decision: explained.decision.as_str().to_owned(),
            name: UNMEASURED.to_owned(),
            deciding: false,
        });
    }
    let (mut decision, mut error) = (explained.decision, explained.refusal.clone());
    let mut remedies = explained.remedies();
    if let Some((mut line, refusal)) = device_line(&verdict) {
        if decision != Decision::Deny
            && let Some(refusal) = refusal
        {
            evidence.iter_mut().for_each(|line| line.deciding = false);
            remedies = at_the_device(&refusal);
            (line.deciding, decision, error) = (true, Decision::Deny, Some(refusal));
        }
        evidence.push(line);
    }
    let error = error.as_ref().and_then(|error| serde_json::to_vec(error).ok());
    v1::ExplainCallResponse {
        tool: explained.target.as_ref().map(|(tool, _)| (*tool).to_owned()).unwrap_or_default(),
        device: known.map(|known| known.name.to_string()).unwrap_or_default(),
        arguments: explained.arguments.clone().into(),
        user: subject.user.to_string(),
        role: subject.role.to_string(),
        decision: decision.as_str().to_owned(),
        error: error.unwrap_or_default().into(),
        evidence,
        remedies,
        touches: explained.touches.clone(),
        mode: explained.mode(),
        device_verdict: Some(verdict),
        look_alikes: look_alikes_of_call(&explained.touches, &explained.arguments),
    }
}
