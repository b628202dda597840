//! The harm that a call can do. Orion states it; never a device or a model.

use std::fmt;

use serde::{Deserialize, Serialize};

/// From reading the clock to stopping every container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Reads, or creates something new and harmless. Runs.
    Low,
    /// Makes a change that can be undone. Runs and notifies.
    Medium,
    /// Destroys or interrupts. Requires a person's approval.
    High,
    /// Interrupts many things at once. Requires an admin's approval.
    Critical,
}

impl Risk {
    /// Returns whether approval, and `confirm` in the arguments, are required by default.
    #[must_use]
    pub const fn is_dangerous(self) -> bool {
        matches!(self, Self::High | Self::Critical)
    }

    /// Returns the next higher risk; the highest stays.
    #[must_use]
    pub const fn raised(self) -> Self {
        match self {
            Self::Low => Self::Medium,
            Self::Medium => Self::High,
            Self::High | Self::Critical => Self::Critical,
        }
    }

    /// Returns the name that people and the wire use.
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
