//! The default decision of each risk, where no rule decides.

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::risk::Risk;

/// The default decision of each risk. It can be made stricter than Orion's own, never looser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, from = "RiskDefaultsForm")]
pub struct RiskDefaults {
    low: Decision,
    medium: Decision,
}

/// The defaults as written: `high` and `critical` always require approval.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RiskDefaultsForm {
    #[serde(default = "allow")]
    low: Decision,
    #[serde(default = "allow")]
    medium: Decision,
}

const fn allow() -> Decision {
    Decision::Allow
}

impl From<RiskDefaultsForm> for RiskDefaults {
    fn from(RiskDefaultsForm { low, medium }: RiskDefaultsForm) -> Self {
        Self { low, medium: medium.max(low) }
    }
}

impl Default for RiskDefaults {
    fn default() -> Self {
        Self { low: Decision::Allow, medium: Decision::Allow }
    }
}

impl RiskDefaults {
    /// Creates the defaults from the decisions for low and medium risk. Medium is never looser than low.
    #[must_use]
    pub fn new(low: Decision, medium: Decision) -> Self {
        RiskDefaultsForm { low, medium }.into()
    }

    /// Returns the default decision for a risk.
    #[must_use]
    pub fn of(self, risk: Risk) -> Decision {
        match risk {
            Risk::Low => self.low,
            Risk::Medium => self.medium,
            Risk::High | Risk::Critical => self.medium.max(Decision::Ask),
        }
    }
}
