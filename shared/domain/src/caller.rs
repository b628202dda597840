//! The person that a call is made for, and that person's role.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::{ConversationId, UserName};

/// The limit of what a person may do, before any grant is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Read-only: tools of low risk that change nothing.
    Viewer,
    /// Low and medium risk; high risk with approval.
    Operator,
    /// Everything that grants, rules and ceilings allow.
    Admin,
}

impl Role {
    /// Returns the name that people and the wire use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is not the name of a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a role; roles are viewer, operator and admin")]
pub struct NotARole(String);

impl FromStr for Role {
    type Err = NotARole;

    fn from_str(text: &str) -> Result<Self, NotARole> {
        match text {
            "viewer" => Ok(Self::Viewer),
            "operator" => Ok(Self::Operator),
            "admin" => Ok(Self::Admin),
            other => Err(NotARole(other.chars().take(40).collect())),
        }
    }
}

/// The person that a call is made for. A chat acts with its person's role, never more.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Caller {
    /// The account.
    pub user: UserName,
    /// The role of that account when the call was made.
    pub role: Role,
    /// The chat that the call came from. `None` for a call made outside a chat.
    pub conversation: Option<ConversationId>,
}
