//! Compares what a changed call needs for its requester and for its author: nobody gets in another's name
//! what they would not get in their own.

use std::sync::Arc;

use orion_domain::evaluate::Decision;
use orion_domain::rule::Approvers;
use orion_domain::{Caller, ToolError};

use crate::pipeline::Pipeline;
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::call::{CallContext, Origin, Previewed};
use crate::pipeline::evaluate::measured;
use crate::store::StoreError;

/// What the changed call would need if its author made it.
struct Needs {
    decision: Decision,
    approvers: Approvers,
    preview_first: bool,
    refusal: ToolError,
}

impl Needs {
    fn of(evaluated: &EvaluatedCall) -> Self {
        Self {
            decision: evaluated.decision(),
            approvers: evaluated.approvers(),
            preview_first: evaluated.preview_first(),
            refusal: evaluated.refusal(),
        }
    }

    /// Checks that the call needs no less when it is made for the requester.
    fn allow(self, evaluated: &EvaluatedCall) -> Result<(), ToolError> {
        if evaluated.decision() == Decision::Deny {
            return Err(evaluated.refusal());
        }
        let is_no_stricter = match self.decision {
            Decision::Deny => return Err(self.refusal),
            Decision::Allow => true,
            Decision::DryRunFirst | Decision::Ask => {
                evaluated.decision() != Decision::Allow
                    && evaluated.approvers().and(self.approvers) == evaluated.approvers()
                    && (evaluated.preview_first() || !self.preview_first)
            }
        };
        if is_no_stricter {
            return Ok(());
        }
        Err(ToolError::new(
            self.refusal.code,
            "You would need more approval for this call than its requester, so you cannot change it for them.",
        )
        .hint("deny the request, and make the call yourself"))
    }
}

/// Checks that a changed call needs no less for its requester than for its author: nobody gets in another's
/// name what they would not get in their own.
///
/// # Errors
/// The database cannot be read or written. The inner error is for the author.
pub(in crate::pipeline) async fn is_within(
    pipeline: &Arc<Pipeline>,
    author: Caller,
    evaluated: &EvaluatedCall,
) -> Result<Result<(), ToolError>, StoreError> {
    // The report of a preview is stored with the call, and not twice.
    let preview = evaluated.context.preview.clone().map(|it| Previewed { report: None, ..it });
    let own = CallContext {
        caller: author,
        origin: Origin::Direct,
        token: None,
        earlier: None,
        preview,
        ..evaluated.context.clone()
    };
    Ok(match measured(pipeline, own).await? {
        Ok(own) => Needs::of(&own).allow(evaluated),
        Err(stopped) => Err(stopped.error),
    })
}
