//! Rules across devices: they tighten what grants leave, or pre-approve a narrow case.

use serde::{Deserialize, Serialize};

use crate::id::DeviceName;

/// What a matching rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleAction {
    /// Refuses.
    Deny,
    /// Asks a person.
    Ask,
    /// Shows a preview, and a person says go.
    DryRunFirst,
    /// Runs without asking where risk alone would have asked. Never widens a grant.
    Preapprove,
}

/// One rule of the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A name, unique in the policy; what denials and permits refer to.
    pub id: String,
    /// The tools it is about; empty means every tool, which a pre-approval may not say.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The devices it is about; empty means every device, which a pre-approval may not say.
    #[serde(default)]
    pub devices: Vec<DeviceName>,
    /// What it does.
    pub action: RuleAction,
    /// Why, in a sentence that the person who is refused gets to read.
    #[serde(default)]
    pub because: String,
}

impl Rule {
    /// Whether the rule speaks of this tool on this device. A pre-approval that names no tool or
    /// no device matches nothing.
    #[must_use]
    pub fn matches(&self, tool: &str, device: &DeviceName) -> bool {
        let names_tool = self.tools.iter().any(|name| name == tool);
        let names_device = self.devices.contains(device);
        match self.action {
            RuleAction::Preapprove => names_tool && names_device,
            RuleAction::Deny | RuleAction::Ask | RuleAction::DryRunFirst => {
                (self.tools.is_empty() || names_tool) && (self.devices.is_empty() || names_device)
            }
        }
    }
}
