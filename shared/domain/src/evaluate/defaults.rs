//! The default decision of each risk, where no rule decides.

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::risk::Risk;

/// The default decision of each risk. It can be made stricter than Orion's own, never looser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "RiskDefaultsForm")]
pub struct RiskDefaults {
    low: Decision,
    medium: Decision,
    #[serde(skip_serializing_if = "is_ask")]
    high: Decision,
    #[serde(skip_serializing_if = "is_ask")]
    critical: Decision,
    /// Whether calls of low and of medium risk that run are reported. Only the backend reports.
    #[serde(skip)]
    notifies: (bool, bool),
    /// Whether approvals of high and of critical risk are signed with a passkey. Only the backend checks that.
    #[serde(skip)]
    signed: (bool, bool),
}

/// High or critical risk that would run without an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("high and critical risk always require approval, or are denied")]
pub struct TooLoose;

/// The defaults as written: `high` and `critical` always require approval, or are denied.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RiskDefaultsForm {
    #[serde(default = "allow")]
    low: Decision,
    #[serde(default = "allow")]
    medium: Decision,
    #[serde(default = "ask")]
    high: Decision,
    #[serde(default = "ask")]
    critical: Decision,
}

const fn allow() -> Decision {
    Decision::Allow
}

const fn ask() -> Decision {
    Decision::Ask
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_ask(decision: &Decision) -> bool {
    *decision == Decision::Ask
}

impl TryFrom<RiskDefaultsForm> for RiskDefaults {
    type Error = TooLoose;

    fn try_from(form: RiskDefaultsForm) -> Result<Self, TooLoose> {
        let is_loose = form.high < Decision::Ask || form.critical < Decision::Ask;
        if is_loose { Err(TooLoose) } else { Ok(Self::of_form(&form)) }
    }
}

impl Default for RiskDefaults {
    fn default() -> Self {
        Self::new(Decision::Allow, Decision::Allow)
    }
}

impl RiskDefaults {
    /// Returns the defaults with each risk at least as strict as the one below.
    fn of_form(form: &RiskDefaultsForm) -> Self {
        let RiskDefaultsForm { low, medium, high, critical } = *form;
        let high = high.max(Decision::Ask);
        let (medium, critical) = (medium.max(low), critical.max(high));
        Self { low, medium, high, critical, notifies: (false, false), signed: (false, false) }
    }

    /// Creates the defaults from the decisions for low and medium risk. Medium is never looser than low.
    #[must_use]
    pub fn new(low: Decision, medium: Decision) -> Self {
        let (high, critical) = (Decision::Ask, Decision::Ask);
        Self::of_form(&RiskDefaultsForm { low, medium, high, critical })
    }

    /// Returns the defaults with these decisions for high and critical risk, which are never looser than an
    /// approval, and critical never looser than high.
    #[must_use]
    pub fn with_high(self, high: Decision, critical: Decision) -> Self {
        let Self { low, medium, notifies, signed, .. } = self;
        let form = RiskDefaultsForm { low, medium, high, critical };
        Self { notifies, signed, ..Self::of_form(&form) }
    }

    /// Returns the defaults with calls of low and of medium risk reported, or not.
    #[must_use]
    pub const fn notifying(self, low: bool, medium: bool) -> Self {
        Self { notifies: (low, medium), ..self }
    }

    /// Returns the defaults with approvals of high and of critical risk signed, or not. Those of critical risk are if
    /// those of high risk are.
    #[must_use]
    pub const fn signing(self, high: bool, critical: bool) -> Self {
        Self { signed: (high, high || critical), ..self }
    }

    /// Returns whether approvals of calls of this risk are signed with a passkey.
    #[must_use]
    pub const fn signs(self, risk: Risk) -> bool {
        match risk {
            Risk::Low | Risk::Medium => false,
            Risk::High => self.signed.0,
            Risk::Critical => self.signed.1,
        }
    }

    /// Returns the default decision for a risk.
    #[must_use]
    pub fn of(self, risk: Risk) -> Decision {
        match risk {
            Risk::Low => self.low,
            Risk::Medium => self.medium,
            Risk::High => self.medium.max(self.high),
            Risk::Critical => self.medium.max(self.critical),
        }
    }

    /// Returns whether calls of this risk that run are reported.
    #[must_use]
    pub const fn notifies(self, risk: Risk) -> bool {
        match risk {
            Risk::Low => self.notifies.0,
            Risk::Medium => self.notifies.1,
            Risk::High | Risk::Critical => false,
        }
    }
}
