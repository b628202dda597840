//! What a person's yes is bound to: exactly one call.

use crate::call::CanonicalArguments;
use crate::caller::Caller;
use crate::digest::Digest;
use crate::id::{CallId, DeviceId};
use crate::touches::Touches;

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
    /// The policy that asked.
    pub policy_version: &'a str,
}

impl CallBinding<'_> {
    /// The digest that stands for this call and no other.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let conversation = self.caller.conversation.map(|id| id.to_string()).unwrap_or_default();
        // Serialising plain structs of strings cannot fail; were it to, the two sides would
        // disagree and the device would refuse.
        let touches = serde_json::to_vec(self.touches).unwrap_or_default();
        Digest::of_fields(
            "orion.approval.v1",
            &[
                self.call.uuid().as_bytes(),
                self.device.uuid().as_bytes(),
                self.tool.as_bytes(),
                self.arguments.as_bytes(),
                self.caller.user.as_str().as_bytes(),
                self.caller.role.as_str().as_bytes(),
                conversation.as_bytes(),
                &touches,
                self.policy_version.as_bytes(),
            ],
        )
    }
}
