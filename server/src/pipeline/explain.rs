//! Why a call would be allowed, asked about or denied: the same steps, with nothing recorded and
//! nothing sent.

use orion_domain::evaluate::Evidence;
use orion_domain::{CallRequest, Caller, Decision, ToolError};

use super::audit::Incoming;
use super::{authorize, validate};
use crate::backend::Backend;

/// What would become of a call.
#[derive(Debug)]
pub struct Explanation {
    /// What holds.
    pub decision: Decision,
    /// What the caller would be told, where it would not simply run.
    pub refusal: Option<ToolError>,
    /// Every line that was said, its name, and whether it decided.
    pub trace: Vec<(Evidence, String, bool)>,
}

/// Judges without doing.
#[must_use]
pub fn explain(backend: &Backend, caller: Caller, request: CallRequest) -> Explanation {
    let incoming = Incoming::new(caller, request);
    let judged = validate::target(backend, &incoming.request).and_then(|target| {
        let parsed = validate::arguments(&target, incoming.request.arguments.clone())?;
        Ok(authorize::call(incoming, target, parsed))
    });
    match judged {
        Err(refusal) => {
            Explanation { decision: Decision::Deny, refusal: Some(refusal), trace: Vec::new() }
        }
        Ok(judged) => {
            let deciding = judged.deciding().copied();
            let refusal = (judged.decision() != Decision::Allow).then(|| judged.refusal());
            let mut found = false;
            let trace = judged
                .trace()
                .into_iter()
                .map(|(line, name)| {
                    let decides = !found && Some(line) == deciding;
                    found |= decides;
                    (line, name, decides)
                })
                .collect();
            Explanation { decision: judged.decision(), refusal, trace }
        }
    }
}
