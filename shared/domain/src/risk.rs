//! How much harm a call can do, as Orion states it; never a device, never a model.

use std::fmt;

use serde::{Deserialize, Serialize};

/// From reading the clock to stopping every container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Reads, or makes something new and harmless. Runs.
    Low,
    /// Changes something that can be put back. Runs and notifies.
    Medium,
    /// Destroys or interrupts. Asks a person.
    High,
    /// Interrupts much at once. Asks an admin.
    Critical,
}

impl Risk {
    /// Whether a person is asked by default, and `confirm` is wanted in the arguments.
    #[must_use]
    pub const fn is_dangerous(self) -> bool {
        matches!(self, Self::High | Self::Critical)
    }

    /// The next higher; the highest stays.
    #[must_use]
    pub const fn raised(self) -> Self {
        match self {
            Self::Low => Self::Medium,
            Self::Medium => Self::High,
            Self::High | Self::Critical => Self::Critical,
        }
    }

    /// The word that people and wire use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
