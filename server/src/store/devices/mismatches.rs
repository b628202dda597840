//! Differences between what a policy names and what its device has.

use serde::{Deserialize, Serialize};

/// The kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyMismatchKind {
    /// The path leads through a link.
    Link,
    /// The name on the device differs in case.
    Case,
    /// No such application is installed.
    App,
}

/// An entry of the policy that does not exist on the device under this name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyMismatch {
    /// The kind.
    pub kind: PolicyMismatchKind,
    /// The entry as the policy writes it.
    pub entry: String,
    /// Where it leads, or how the device writes it. Empty if the device does not report it.
    pub found: String,
}

impl PolicyMismatch {
    /// Describes the difference, with what to do.
    #[must_use]
    pub fn description(&self) -> String {
        let Self { kind, entry, found } = self;
        match kind {
            PolicyMismatchKind::Link if found.is_empty() => format!(
                "`{entry}` is behind a link there that leads out of what its owner grants, so it does nothing. Name a place inside."
            ),
            PolicyMismatchKind::Link => format!(
                "`{entry}` is behind a link there and leads to `{found}`. Name that place itself, for whoever changes the link changes what is meant."
            ),
            PolicyMismatchKind::Case if found.is_empty() => {
                format!("`{entry}` is written otherwise there. Write it as the device does.")
            }
            PolicyMismatchKind::Case => format!(
                "`{entry}` is written `{found}` there. Write it so: what allows is compared as it is written."
            ),
            PolicyMismatchKind::App => format!(
                "`{entry}` is not installed there. Take it out, or have the device's owner install it or bind a program under [apps] in agent.toml."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_names_its_entry_and_what_to_do() {
        let words = |kind, found: &str| {
            PolicyMismatch { kind, entry: "~/x".to_owned(), found: found.to_owned() }.description()
        };
        assert_eq!(
            words(PolicyMismatchKind::Link, "/srv/x"),
            "`~/x` is behind a link there and leads to `/srv/x`. Name that place itself, for whoever changes the link changes what is meant."
        );
        assert_eq!(
            words(PolicyMismatchKind::Link, ""),
            "`~/x` is behind a link there that leads out of what its owner grants, so it does nothing. Name a place inside."
        );
        assert_eq!(
            words(PolicyMismatchKind::Case, "/home/ann/X"),
            "`~/x` is written `/home/ann/X` there. Write it so: what allows is compared as it is written."
        );
        assert!(
            words(PolicyMismatchKind::Case, "").starts_with("`~/x` is written otherwise there.")
        );
        assert!(words(PolicyMismatchKind::App, "").starts_with("`~/x` is not installed there."));
    }
}
