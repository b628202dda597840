//! `[spending]`: how much of the models may be used. A day is the last 24 hours.

use serde::{Deserialize, Serialize};

/// `[spending]`. What is not set has no limit. Costs are in the currency of the models' prices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Spending {
    /// The most tokens of one chat.
    pub tokens_per_chat: Option<u64>,
    /// The most tokens of one person in a day.
    pub tokens_per_person_per_day: Option<u64>,
    /// The most tokens of everybody in a day.
    pub tokens_per_day: Option<u64>,
    /// The most that one chat may cost.
    pub cost_per_chat: Option<f64>,
    /// The most that one person may cost in a day.
    pub cost_per_person_per_day: Option<f64>,
    /// The most that everybody may cost in a day.
    pub cost_per_day: Option<f64>,
}

impl Spending {
    /// Returns whether anything is limited.
    #[must_use]
    pub fn limits(&self) -> bool {
        *self != Self::default()
    }

    /// Returns the key of a cost that is no sum of money. None where all are.
    pub(super) fn wrong_cost(&self) -> Option<&'static str> {
        let costs = [
            ("cost_per_chat", self.cost_per_chat),
            ("cost_per_person_per_day", self.cost_per_person_per_day),
            ("cost_per_day", self.cost_per_day),
        ];
        let is_wrong = |cost: f64| !(0.0..=1_000_000.0).contains(&cost);
        costs.into_iter().find(|(_, cost)| cost.is_some_and(is_wrong)).map(|(key, _)| key)
    }
}
