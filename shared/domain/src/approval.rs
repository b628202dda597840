//! Binds a person's approval to exactly one call, for a limited time.
//!
//! ```compile_fail
//! // An `Approved` comes from comparing the approval's binding with the call, and from nothing else.
//! let approved = orion_domain::Approved(orion_domain::ApprovalId::new(uuid::Uuid::nil()));
//! ```

use crate::call::CanonicalArguments;
use crate::caller::Caller;
use crate::digest::Digest;
use crate::id::{ApprovalId, CallId, DeviceId};
use crate::observation::Observation;
use crate::raise::RiskRaise;
use crate::touches::Touches;

/// What the approver was shown of what a call touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalBasis {
    /// The preview of this call, with an observation of each path that it touches.
    Preview,
    /// A plan that contains this call. Paths changed by earlier steps are compared before the step runs.
    Plan,
    /// Nothing of this call: the approval of an earlier call covers its chat.
    Standing,
}

impl ApprovalBasis {
    /// Returns the name that is bound.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preview => "preview",
            Self::Plan => "plan",
            Self::Standing => "standing",
        }
    }
}

/// Everything that an approval covers. A change of any field makes another call, which needs its own
/// approval. The backend binds the call when it creates the request; the device binds it again from what
/// it received.
#[derive(Debug, Clone, Copy)]
pub struct CallBinding<'a> {
    /// The call. One approval, one call, one execution.
    pub call: CallId,
    /// The device that runs the call.
    pub device: DeviceId,
    /// The tool's name.
    pub tool: &'a str,
    /// The tool's arguments.
    pub arguments: &'a CanonicalArguments,
    /// The person and the chat that the call is made for.
    pub caller: &'a Caller,
    /// What the call would touch, resolved by the device's path rules.
    pub touches: &'a Touches,
    /// What the approver was shown.
    pub basis: ApprovalBasis,
    /// What the preview observed. The device compares it before the call runs.
    pub observed: &'a [Observation],
    /// The version of the policy that required the approval.
    pub policy_version: &'a str,
    /// Why the call's risk is higher than its tool's, as the approver was shown.
    pub raises: &'a [RiskRaise],
    /// Unix milliseconds. The approval is invalid from this moment on.
    pub expires_at: i64,
}

/// An approval that was compared with the exact call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approved(ApprovalId);

impl Approved {
    /// Returns the id of the approval.
    #[must_use]
    pub const fn id(self) -> ApprovalId {
        self.0
    }

    #[cfg(test)]
    pub(crate) const fn of(id: ApprovalId) -> Self {
        Self(id)
    }
}

impl CallBinding<'_> {
    /// Returns the digest that identifies this call and no other.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let conversation = self.caller.conversation.map(|id| id.to_string()).unwrap_or_default();
        // Serialising plain structs of strings cannot fail. If it did, the two digests would differ and
        // the device would refuse the call.
        let touches = serde_json::to_vec(self.touches).unwrap_or_default();
        let raises = serde_json::to_vec(self.raises).unwrap_or_default();
        let observed = serde_json::to_vec(self.observed).unwrap_or_default();
        Digest::of_fields(
            "orion.approval.v3",
            &[
                self.call.uuid().as_bytes(),
                self.device.uuid().as_bytes(),
                self.tool.as_bytes(),
                self.arguments.as_bytes(),
                self.caller.user.as_str().as_bytes(),
                self.caller.role.as_str().as_bytes(),
                conversation.as_bytes(),
                &touches,
                &raises,
                self.basis.as_str().as_bytes(),
                &observed,
                self.policy_version.as_bytes(),
                &self.expires_at.to_be_bytes(),
            ],
        )
    }

    /// Returns the approval if it was given for this very call and has not expired at `now` (Unix
    /// milliseconds).
    #[must_use]
    pub fn approved(&self, approval: ApprovalId, bound_to: Digest, now: i64) -> Option<Approved> {
        (self.digest() == bound_to && now < self.expires_at).then_some(Approved(approval))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::caller::Role;
    use crate::observation::Kind;

    #[test]
    fn a_yes_is_to_one_call_until_a_moment() {
        let arguments = CanonicalArguments::from_value(&json!({"path": "/srv/x"}));
        let caller =
            Caller { user: "ann".parse().unwrap(), role: Role::Operator, conversation: None };
        let touches = Touches::default();
        let binding = CallBinding {
            call: CallId::new(Uuid::from_u128(1)),
            device: DeviceId::new(Uuid::from_u128(2)),
            tool: "delete_file",
            arguments: &arguments,
            caller: &caller,
            touches: &touches,
            basis: ApprovalBasis::Preview,
            observed: &[],
            policy_version: "v1",
            raises: &[],
            expires_at: 5_000,
        };
        let (id, bound_to) = (ApprovalId::new(Uuid::from_u128(3)), binding.digest());
        assert_eq!(binding.approved(id, bound_to, 4_999).map(Approved::id), Some(id));
        assert_eq!(binding.approved(id, bound_to, 5_000), None);
        let longer = CallBinding { expires_at: 9_000, ..binding };
        assert_eq!(longer.approved(id, bound_to, 4_999), None);
        let raised = CallBinding { raises: &[RiskRaise::StartsPrograms], ..binding };
        assert_eq!(raised.approved(id, bound_to, 4_999), None);
        let other = CallBinding { tool: "delete_directory", ..binding };
        assert_eq!(other.approved(id, bound_to, 4_999), None);
        let unseen = CallBinding { basis: ApprovalBasis::Standing, ..binding };
        assert_eq!(unseen.approved(id, bound_to, 4_999), None);
        let seen = [Observation {
            path: "/srv/x".to_owned(),
            real: "/srv/x".to_owned(),
            kind: Kind::Nothing,
            bytes: 0,
            mode: 0,
            digest: None,
        }];
        let shown = CallBinding { observed: &seen, ..binding };
        assert_eq!(shown.approved(id, bound_to, 4_999), None);
    }
}
