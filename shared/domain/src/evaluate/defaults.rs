//! What each risk asks for where nothing else is said.

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::risk::Risk;

/// What each risk asks for by itself. It can be made stricter than Orion's own, never looser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, from = "RiskDefaultsForm")]
pub struct RiskDefaults {
    low: Decision,
    medium: Decision,
}

/// As it is written: `high` and `critical` always ask.
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
    /// What low and medium risk ask for. Medium is never held looser than low.
    #[must_use]
    pub fn new(low: Decision, medium: Decision) -> Self {
        RiskDefaultsForm { low, medium }.into()
    }

    /// What a call of this risk needs where nothing else is said.
    #[must_use]
    pub fn of(self, risk: Risk) -> Decision {
        match risk {
            Risk::Low => self.low,
            Risk::Medium => self.medium,
            Risk::High | Risk::Critical => self.medium.max(Decision::Ask),
        }
    }
}
