//! Checks the approval that comes with a call.

use orion_catalog::{ParsedCall, ToolSpec};
use orion_domain::{ApprovalBasis, ApprovalId, Approved, CallBinding, ErrorCode, ToolError};
use orion_wire::Dispatched;

use super::Guard;
use crate::clock::now_ms;
use crate::journal::APPROVED_REMEMBERED_MS;

impl Guard {
    /// Checks the call's approval: it must be for exactly this call under this policy, and unused. Returns
    /// `None` if the call has no approval; the evaluation then names what is missing.
    pub(super) fn approved(
        &self,
        call: &Dispatched,
        spec: &ToolSpec,
        parsed: &ParsedCall,
        is_spent: impl Fn(ApprovalId) -> bool,
    ) -> Result<Option<Approved>, ToolError> {
        let Some(approval) = &call.approval else { return Ok(None) };
        let refused = |message: &str| {
            Err(ToolError::new(ErrorCode::ApprovalRequired, message)
                .with("approval_id", approval.id.to_string())
                .with("policy_version", self.policy.version.as_str())
                .hint("make the call again to request approval"))
        };
        let binding = CallBinding {
            call: call.call,
            device: self.device,
            tool: &call.tool,
            arguments: &call.arguments,
            caller: &call.caller,
            touches: &parsed.touches,
            basis: approval.basis,
            observed: &call.observed,
            policy_version: &self.policy.version,
            raises: &approval.raises,
            expires_at: approval.expires_at,
        };
        if binding.digest() != approval.binding {
            return refused(
                "The approval is for another call, or for this one under another policy.",
            );
        }
        // Without the preview's observations, the paths could not be compared with what was shown.
        if approval.basis == ApprovalBasis::Preview
            && spec.has_effects
            && !parsed.touches.are_all_in(&call.observed)
        {
            return refused(
                "The approval comes without what the preview observed of each path, so what was shown cannot be compared.",
            );
        }
        if is_spent(approval.id) {
            return refused("The approval was used before, and one approval is for one call.");
        }
        let now = now_ms();
        // A call is remembered this long; an approval that is valid for longer could be used twice.
        if approval.expires_at > now.saturating_add(APPROVED_REMEMBERED_MS) {
            return refused(
                "The approval would hold for longer than this device remembers what it ran. This device's clock may be slow.",
            );
        }
        match binding.approved(approval.id, approval.binding, now) {
            Some(approved) => Ok(Some(approved)),
            None => refused("The approval had expired when it arrived, by this device's clock."),
        }
    }
}
