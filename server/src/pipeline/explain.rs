//! Why a call would be allowed, asked about or denied: the same steps with the same counts, with
//! nothing recorded and nothing sent. Only where somebody wants the device's own word is it asked, by a
//! preview, which then tells how much the call touches as well.

use std::sync::Arc;

use orion_domain::evaluate::{Evidence, Mode};
use orion_domain::{CallRequest, CallState, Caller, Decision, DeviceName, ToolError};
use serde_json::Value;

use super::audit::CallContext;
use super::authorize::EvaluatedCall;
use super::gate::{self, Stopped};
use super::preview::Preview;
use super::{CallView, authorize, rate_limit, run_incoming};
use crate::backend::Backend;
use crate::clock::now_ms;
use crate::fleet::DeviceSnapshot;
use crate::policy::FILE_NAME;
use crate::store::StoreError;

/// What would become of a call.
#[derive(Debug)]
pub struct Explanation {
    /// What holds.
    pub decision: Decision,
    /// What the caller would be told, where it would not simply run.
    pub refusal: Option<ToolError>,
    /// Every line that was said, its name, and whether it decided.
    pub trace: Vec<(Evidence, String, bool)>,
    /// The tool by its own name and the device, where they were found.
    pub target: Option<(&'static str, Arc<DeviceSnapshot>)>,
    /// Canonical JSON, where the arguments fitted.
    pub arguments: Vec<u8>,
    /// What it would touch, a line each.
    pub touches: Vec<String>,
    /// Whether a rule asks how much it would touch and nobody has told: then it counts as too much.
    pub is_unmeasured: bool,
}

impl Explanation {
    /// The smallest changes that would let the call run, one line each.
    #[must_use]
    pub fn remedies(&self) -> Vec<String> {
        let told = self.refusal.as_ref().and_then(|refusal| refusal.details.get("remedy"));
        let lines = told.and_then(Value::as_array).into_iter().flatten();
        lines.filter_map(Value::as_str).map(|line| self.placed(line)).collect()
    }

    /// A change of grants, named where it can be made: a device that the policy file names has none
    /// of its own.
    fn placed(&self, remedy: &str) -> String {
        let Some((_, known)) = &self.target else { return remedy.to_owned() };
        let Some(line) = known.policy_line() else { return remedy.to_owned() };
        let either = format!("orion devices permissions set {}, or the policy file", known.name);
        remedy.replace(&either, &format!("{FILE_NAME} line {line}, then orion policy apply"))
    }

    /// That the device is not held strictly, in words; empty where it is.
    #[must_use]
    pub fn mode(&self) -> String {
        let Some((_, known)) = &self.target else { return String::new() };
        dangerous(known).map_or_else(String::new, |(by, reason)| {
            format!("{} is in the mode dangerous, by {by}: {reason}", known.name)
        })
    }
}

fn dangerous(known: &DeviceSnapshot) -> Option<(String, String)> {
    let lifted = match known.policy.mode {
        Mode::Safe => false,
        Mode::Dangerous { until } => now_ms() < until,
    };
    let mode = known.terms.dangerous.as_ref().filter(|_| lifted)?;
    Some((mode.by.to_string(), mode.reason.clone()))
}

/// Judges without doing. What the device told in a preview of the call says how much it would touch.
///
/// # Errors
/// The record cannot be read.
pub async fn explain(
    backend: &Backend,
    caller: Caller,
    request: CallRequest,
    told: Option<&CallView>,
) -> Result<Explanation, StoreError> {
    let incoming = CallContext::new(caller, request);
    let (target, parsed) = match gate::take(backend, &incoming).await? {
        Ok(taken) => taken,
        Err(stopped) => return Ok(refused(*stopped)),
    };
    let found = Some((target.spec.name, Arc::clone(&target.device)));
    let arguments = parsed.arguments.as_bytes().to_vec();
    let (judged, is_unmeasured) =
        known(backend, authorize::call(incoming, target, parsed), told).await?;
    let refusal = (judged.decision() != Decision::Allow).then(|| judged.refusal());
    let trace = judged.trace();
    let (decision, touches) = (judged.decision(), judged.touches());
    Ok(Explanation { decision, refusal, trace, target: found, arguments, touches, is_unmeasured })
}

/// The call by everything that is known of it, and whether how much it touches is missing.
async fn known(
    backend: &Backend,
    mut judged: EvaluatedCall,
    told: Option<&CallView>,
) -> Result<(EvaluatedCall, bool), StoreError> {
    if judged.has_rule(|rule, question| rule.rule.limit.is_some() && rule.counts(question)) {
        let earlier = rate_limit::earlier(backend, &judged).await?;
        judged = judged.counted(earlier);
    }
    if !rate_limit::is_measured(&judged) {
        return Ok((judged, false));
    }
    match told.filter(|reply| reply.state == CallState::Succeeded) {
        Some(reply) => Ok((judged.measured(Preview::Shown(reply.result.clone())), false)),
        None => Ok((judged, true)),
    }
}

fn refused(Stopped { target, error, trace }: Stopped) -> Explanation {
    Explanation {
        decision: Decision::Deny,
        refusal: Some(error),
        trace,
        target: target.map(|target| (target.spec.name, target.device)),
        arguments: Vec::new(),
        touches: Vec::new(),
        is_unmeasured: false,
    }
}

/// The device's own word on a call.
#[derive(Debug)]
pub enum DeviceVerdict {
    /// It was not asked, and why.
    NotAsked(String),
    /// What came of the preview there.
    Asked(Box<CallView>),
}

/// Has the device judge a call by a preview of it, which is recorded as the call that it is.
///
/// # Errors
/// The record cannot be kept.
pub async fn ask_device(
    backend: &Arc<Backend>,
    caller: Caller,
    request: CallRequest,
) -> Result<DeviceVerdict, StoreError> {
    let preview = CallRequest { dry_run: true, idempotency_key: None, ..request };
    let explained = explain(backend, caller.clone(), preview.clone(), None).await?;
    let Some((_, known)) = &explained.target else {
        return Ok(not_asked("there is no such tool or device"));
    };
    if !backend.fleet.is_online(known.id) {
        return Ok(not_asked(&format!("{} is not connected", known.name)));
    }
    if explained.decision != Decision::Allow {
        return Ok(not_asked(&unsent(&known.name)));
    }
    let preview = CallContext { is_internal: true, ..CallContext::new(caller, preview) };
    let reply = run_incoming(backend, preview).await?;
    Ok(DeviceVerdict::Asked(Box::new(reply)))
}

fn unsent(device: &DeviceName) -> String {
    format!(
        "the backend refuses even a preview, and what it refuses is never sent; the lines of the ceiling are those that {device} told"
    )
}

fn not_asked(why: &str) -> DeviceVerdict {
    DeviceVerdict::NotAsked(why.to_owned())
}
