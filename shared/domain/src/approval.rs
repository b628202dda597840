//! What a person's yes is bound to: exactly one call, for a time.
//!
//! ```compile_fail
//! // A yes comes of comparing what it was given to with the call at hand, and of nothing else.
//! let yes = orion_domain::Approved(orion_domain::ApprovalId::new(uuid::Uuid::nil()));
//! ```

use crate::call::CanonicalArguments;
use crate::caller::Caller;
use crate::digest::Digest;
use crate::id::{ApprovalId, CallId, DeviceId};
use crate::observation::Observation;
use crate::raise::RiskRaise;
use crate::touches::Touches;

/// What whoever approved a call was shown of what it touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalBasis {
    /// The preview of this very call, with an observation of each path that it touches.
    Preview,
    /// A plan with this call in it. What earlier steps change is compared before they run.
    Plan,
    /// Nothing of this call: the approval of an earlier one holds for its chat.
    Standing,
}

impl ApprovalBasis {
    /// The word that is bound.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preview => "preview",
            Self::Plan => "plan",
            Self::Standing => "standing",
        }
    }
}

/// Everything that an approval speaks of. A change of any field is another call, and needs another
/// yes. The backend binds when it asks; the device binds again from what it was sent.
#[derive(Debug, Clone, Copy)]
pub struct CallBinding<'a> {
    /// The call. One approval, one call, one execution.
    pub call: CallId,
    /// Where.
    pub device: DeviceId,
    /// What.
    pub tool: &'a str,
    /// With what.
    pub arguments: &'a CanonicalArguments,
    /// For whom, from which chat.
    pub caller: &'a Caller,
    /// What it would touch, resolved by the device's rules.
    pub touches: &'a Touches,
    /// What whoever approved was shown.
    pub basis: ApprovalBasis,
    /// What the preview observed, which must still be so.
    pub observed: &'a [Observation],
    /// The policy that asked.
    pub policy_version: &'a str,
    /// Why its risk is higher than its tool's, as the person was shown.
    pub raises: &'a [RiskRaise],
    /// From when on the yes is good no longer, Unix milliseconds.
    pub expires_at: i64,
}

/// A person's yes that was compared with the exact call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approved(ApprovalId);

impl Approved {
    /// Which approval it is.
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
    /// The digest that stands for this call and no other.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let conversation = self.caller.conversation.map(|id| id.to_string()).unwrap_or_default();
        // Serialising plain structs of strings cannot fail; were it to, the two sides would
        // disagree and the device would refuse.
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

    /// The yes of this approval, where it was given to this very call and its time is not over at
    /// `now`, Unix milliseconds.
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
