//! Why one call is of higher risk than its tool, as its paths or the device's disk show.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::risk::Risk;

/// A reason why one call is of high risk, whatever its tool is.
///
/// Both sides find some reasons from the paths alone. Others only the device sees: it reports them with
/// a preview, and refuses the call until a person has approved it with the reason shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RiskRaise {
    /// The call writes what can start programs: a dot-file, something in a dot-folder, or a file that
    /// has or gets an execute bit.
    StartsPrograms,
    /// What the call replaces or deletes cannot be kept, so that nothing can be undone.
    CannotBeUndone,
    /// The call starts a program that can read or change a denied path, because it reaches the folder
    /// that holds it.
    ReachesDenied,
}

impl RiskRaise {
    /// Every reason, in the order of the reference.
    pub const ALL: [Self; 3] = [Self::StartsPrograms, Self::CannotBeUndone, Self::ReachesDenied];

    /// Returns the name that files and the wire use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StartsPrograms => "starts_programs",
            Self::CannotBeUndone => "cannot_be_undone",
            Self::ReachesDenied => "reaches_denied",
        }
    }

    /// Returns the sentence that a person reads.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::StartsPrograms => "This file can start programs.",
            Self::CannotBeUndone => "This change cannot be undone.",
            Self::ReachesDenied => "The program can reach a denied path.",
        }
    }

    /// Returns the minimum risk of a call with this reason.
    #[must_use]
    pub const fn risk(self) -> Risk {
        match self {
            Self::StartsPrograms | Self::CannotBeUndone | Self::ReachesDenied => Risk::High,
        }
    }
}

/// A reason why a call counts as one risk higher once untrusted content is in its chat.
///
/// A change that can be undone, inside the granted folders, is not raised: an approval that is asked for
/// everything is read for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentRaise {
    /// What the call changes cannot be undone.
    CannotBeUndone,
    /// The call contacts a host, which learns what the call tells it.
    SendsOut,
    /// The call starts a program, or writes what can start one.
    StartsPrograms,
    /// The call goes to another device than the content came from, which the person has not named, or moves
    /// a file between devices.
    CrossesDevices,
    /// The text that the call writes stands in the content.
    Copied,
}

impl ContentRaise {
    /// Every reason, in the order of the reference.
    pub const ALL: [Self; 5] = [
        Self::CannotBeUndone,
        Self::SendsOut,
        Self::StartsPrograms,
        Self::CrossesDevices,
        Self::Copied,
    ];

    /// Returns what the call does, for a sentence that begins with "the call".
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::CannotBeUndone => "cannot be undone",
            Self::SendsOut => "contacts a host",
            Self::StartsPrograms => "starts a program or writes what can start one",
            Self::CrossesDevices => "carries it from one device to another",
            Self::Copied => "writes text that stands in it",
        }
    }
}

impl fmt::Display for RiskRaise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_of_high_risk_and_reads_back() {
        for raise in RiskRaise::ALL {
            assert_eq!(raise.risk(), Risk::High);
            let written = serde_json::to_string(&raise).unwrap();
            assert_eq!(written, format!("\"{raise}\""));
            assert_eq!(serde_json::from_str::<RiskRaise>(&written).unwrap(), raise);
            assert!(raise.sentence().ends_with('.'));
        }
    }
}
