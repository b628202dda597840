//! Explains why a call would be allowed, need approval or be denied, by the evaluation that runs for a call.
//! Nothing is stored and nothing is sent. Only on request, the device evaluates a preview of the
//! call, which also reports the quantity.

mod device;

use std::sync::Arc;

use orion_domain::evaluate::{Evidence, Mode};
use orion_domain::{CallRequest, CallState, Caller, Decision, ToolError};

use super::authorize::Counts;
use super::call::CallContext;
use super::evaluate::{Stopped, evaluate};
use super::preview::Preview;
use super::secrets::split;
use super::view::CallView;
use super::{Pipeline, rate_limit};
use crate::clock::now_ms;
use crate::fleet::DeviceSnapshot;
use crate::store::{Provenance, StoreError};

pub use device::{DeviceVerdict, ask_device};

/// The explanation of a call.
#[derive(Debug)]
pub struct Explanation {
    /// The decision.
    pub decision: Decision,
    /// The error for the caller. None if the call would run without approval.
    pub refusal: Option<ToolError>,
    /// All evidence, with the name of each rule and whether it decided.
    pub trace: Vec<(Evidence, String, bool)>,
    /// The tool's name, without aliases, and the device. None if one of them was not found.
    pub target: Option<(&'static str, Arc<DeviceSnapshot>)>,
    /// Canonical JSON. Empty if the arguments are invalid.
    pub arguments: Vec<u8>,
    /// What the call would touch, one line each.
    pub touches: Vec<String>,
    /// Whether a rule needs the quantity and no preview reported it; then it counts as too large.
    pub is_unmeasured: bool,
}

impl Explanation {
    /// Returns the smallest changes that would let the call run, one line each.
    #[must_use]
    pub fn remedies(&self) -> Vec<String> {
        let hints = self.refusal.iter().flat_map(|refusal| &refusal.hints);
        hints.map(ToString::to_string).collect()
    }

    /// Returns a sentence if the device is in dangerous mode, otherwise an empty text.
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

/// Evaluates a call without running it. `preview` is a preview of the call, which reports the quantity;
/// `provenance` is what may have influenced the call.
///
/// # Errors
/// The database cannot be read.
pub async fn explain(
    pipeline: &Pipeline,
    caller: Caller,
    request: CallRequest,
    preview: Option<&CallView>,
    provenance: Provenance,
) -> Result<Explanation, StoreError> {
    let context = CallContext { provenance, ..CallContext::new(caller, request) };
    let call = match evaluate(pipeline, context).await? {
        Ok(call) => call,
        Err(stopped) => return Ok(refused(*stopped)),
    };
    let is_measured = rate_limit::is_measured(&call);
    let preview = preview.filter(|view| is_measured && view.state == CallState::Succeeded);
    let is_unmeasured = is_measured && preview.is_none();
    let call = match preview.map(|view| Preview::Shown(view.result.clone())) {
        Some(preview) => {
            let (quantity, raises) = (preview.quantity(), preview.raises());
            let counts = Counts { quantity, raises, ..call.counts.clone() };
            call.with(counts)
        }
        None => call,
    };
    let refusal = (call.decision() != Decision::Allow).then(|| call.refusal());
    Ok(Explanation {
        decision: call.decision(),
        refusal,
        trace: call.trace(),
        target: Some((call.target.spec.name, Arc::clone(&call.target.device))),
        arguments: split(Some(call.target.spec), &call.parsed.arguments).shown,
        touches: call.touches(),
        is_unmeasured,
    })
}

fn refused(Stopped { target, error, trace, .. }: Stopped) -> Explanation {
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
