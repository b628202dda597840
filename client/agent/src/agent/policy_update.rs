//! Applies the policies that the backend sends.

use orion_wire::v1::{self, link_request};

use super::Agent;

impl Agent {
    /// Applies a policy, or reports why it is rejected. The acknowledgement names the version either way.
    pub(super) fn policy(&mut self, update: &v1::PolicyUpdate) {
        let v1::PolicyUpdate { version, policy } = update;
        let error = match self.guard.update(version, policy) {
            Ok(()) => {
                // The findings follow when the policy was inspected.
                self.found.clear();
                self.reopen();
                tracing::info!(%version, "the policy is active");
                if self.status.policy_version.as_ref().is_some_and(|before| before != version) {
                    self.notice_permissions();
                }
                self.status.policy_version = Some(version.clone());
                self.write_status();
                String::new()
            }
            Err(error) => {
                tracing::warn!(%error, "a policy was not taken; the one before it holds");
                error.to_string()
            }
        };
        let version = version.chars().take(64).collect();
        let ack = v1::PolicyAck { version, error, findings: Vec::new() };
        self.send(link_request::Message::PolicyAck(ack));
    }
}
