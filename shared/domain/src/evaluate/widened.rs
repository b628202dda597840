//! The policy for the calls of one person and one tool, widened by temporary grants.

use std::collections::BTreeSet;

use super::Policy;
use crate::caller::Caller;
use crate::path::PathStyle;
use crate::question::{Moment, ToolFacts};
use crate::temporary::TemporaryGrant;

impl Policy {
    /// Returns the policy for the calls of a tool by a person, widened by that person's temporary grants.
    /// `None` if there is none for these calls at this moment.
    #[must_use]
    pub fn for_calls(&self, tool: &ToolFacts<'_>, caller: &Caller, at: Moment) -> Option<Self> {
        let mut grants = self.temporary.iter().filter(|it| it.applies(tool, caller, at)).peekable();
        grants.peek()?;
        let mut policy = Self { temporary: Vec::new(), ..self.clone() };
        let hosts = policy.narrow_to_temporary(tool, at);
        for grant in grants {
            grant.widen(&mut policy.grants);
            policy.granted_by.push(grant.grant.request.clone());
        }
        policy.restore_hosts(hosts);
        Some(policy)
    }

    /// Returns the policy with one more temporary grant, for the calls that this one is for.
    #[must_use]
    pub(super) fn with_grant(
        &self,
        grant: TemporaryGrant,
        style: PathStyle,
        tool: &ToolFacts<'_>,
        at: Moment,
    ) -> Self {
        let mut policy = self.clone();
        let hosts = policy.narrow_to_temporary(tool, at);
        policy.granted_by.push(grant.request.clone());
        grant.compile(style).widen(&mut policy.grants);
        policy.restore_hosts(hosts);
        policy
    }

    /// Takes what a tool may touch out of the grants, where they deny the tool itself: a temporary grant lets it touch
    /// what that grant names, and not what the device grants to other tools. Returns the hosts.
    fn narrow_to_temporary(&mut self, tool: &ToolFacts<'_>, at: Moment) -> BTreeSet<String> {
        let grants = &mut self.grants;
        let is_denied = !tool.names().all(|name| grants.lists_tool(name))
            || grants.missing_capability(tool.capabilities).is_some();
        if !is_denied || !self.granted_by.is_empty() || self.mode.lifts(at) {
            return BTreeSet::new();
        }
        grants.allowed.clear();
        grants.apps.clear();
        grants.commands = Some(Vec::new());
        grants.services.clear();
        grants.logs.clear();
        std::mem::take(&mut grants.hosts)
    }

    /// Puts the hosts back where no temporary grant names one: an empty list does not restrict what URLs name.
    fn restore_hosts(&mut self, hosts: BTreeSet<String>) {
        if self.grants.hosts.is_empty() {
            self.grants.hosts = hosts;
        }
    }
}
