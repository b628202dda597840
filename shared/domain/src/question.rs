//! The call to evaluate, with everything that the policy compares it with.

use serde::{Deserialize, Serialize};

use crate::call::CanonicalArguments;
use crate::caller::{Caller, Role};
use crate::capability::Capability;
use crate::id::DeviceName;
use crate::raise::{ContentRaise, RiskRaise};
use crate::risk::Risk;
use crate::touches::Touches;

/// The call to evaluate.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The called tool.
    pub tool: ToolFacts<'a>,
    /// What the call would touch. `None` before the arguments are read: then only the tool itself is
    /// evaluated.
    pub touches: Option<&'a Touches>,
    /// The arguments of the call, in canonical form. `None` before they are read, and where no rule has a
    /// condition on them.
    pub arguments: Option<&'a CanonicalArguments>,
    /// The person that the call is made for.
    pub caller: &'a Caller,
    /// The device that runs the call.
    pub device: &'a DeviceName,
    /// Whether the call requests only a preview.
    pub dry_run: bool,
    /// Whether the arguments contain `confirm: true`.
    pub confirmed: bool,
    /// The time of the evaluation.
    pub at: Moment,
    /// Why untrusted content in the call's chat raises its risk, as far as only the backend sees it: the
    /// evaluation adds what the call itself shows. `None` where no such content may have influenced the call.
    pub content: Option<&'a [ContentRaise]>,
    /// Why this call's risk is higher than its tool's, as its device determined. Raises that the paths
    /// alone show are found by the evaluation.
    pub raises: &'a [RiskRaise],
    /// Counts that only the backend has. `None` on a device, which does not evaluate them.
    pub counted: Option<Counted<'a>>,
}

impl Question<'_> {
    /// Returns whether the call is only a preview. A tool without effects has no preview: it returns the
    /// same in either case, so a requested preview does not change the decision.
    #[must_use]
    pub const fn is_preview(&self) -> bool {
        self.dry_run && self.tool.has_effects
    }

    /// Returns whether the call may change something.
    #[must_use]
    pub const fn changes(&self) -> bool {
        self.tool.has_effects && !self.dry_run
    }

    /// Returns the role that limits the call: the lower of the person's role and the one that it asks for.
    #[must_use]
    pub fn role(&self) -> Role {
        self.tool.role.map_or(self.caller.role, |role| role.min(self.caller.role))
    }
}

/// What the policy needs to know about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolFacts<'a> {
    /// The tool's name, never an alias.
    pub name: &'a str,
    /// The harm that this call can do.
    pub risk: Risk,
    /// The capabilities that the tool needs.
    pub capabilities: &'a [Capability],
    /// Whether the tool changes anything.
    pub has_effects: bool,
    /// The role that the call asks to be limited to. None for the person's own.
    pub role: Option<Role>,
    /// Whether a call of the tool can be undone.
    pub can_undo: bool,
    /// Whether its paths are files, or are made by the call. Such a path is reached from the folder around it, so
    /// that one has to be allowed.
    pub of_files: bool,
    /// Whether the device defines the tool. The approval of its definition is what lists such a tool.
    pub is_custom: bool,
    /// The called tool, where it differs: an undo call that repeats this tool's call.
    pub called: Option<CalledTool<'a>>,
}

/// A tool whose call has the effects of another tool. Both must be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalledTool<'a> {
    /// The tool's name, never an alias.
    pub name: &'a str,
    /// The capabilities that the tool needs.
    pub capabilities: &'a [Capability],
}

impl<'a> ToolFacts<'a> {
    /// Returns the facts of this tool when a call of another tool runs it. The higher risk counts.
    #[must_use]
    pub fn called_by(self, other: Self) -> Self {
        let called = Some(CalledTool { name: other.name, capabilities: other.capabilities });
        let has_effects = self.has_effects || other.has_effects;
        Self { risk: self.risk.max(other.risk), has_effects, called, ..self }
    }

    /// Returns the names of all tools that must be allowed.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        [Some(self.name), self.called.map(|called| called.name)].into_iter().flatten()
    }
}

/// A point in time, as rules compare it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Unix milliseconds.
    pub unix_ms: i64,
    /// The day of the week in the policy's time zone, 0 for Monday to 6 for Sunday.
    pub weekday: u8,
    /// The minute of that day, 0 to 1439.
    pub minute: u16,
}

/// How much a call touches, as its preview reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quantity {
    /// Files and folders. `None` means no limit, or unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// Bytes in files. `None` means no limit, or unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl Quantity {
    /// Returns whether a quantity exceeds this limit. An unknown quantity exceeds it.
    #[must_use]
    pub fn is_exceeded_by(&self, found: Option<Quantity>) -> bool {
        let over = |limit: Option<u64>, found: Option<u64>| {
            limit.is_some_and(|limit| found.is_none_or(|found| found > limit))
        };
        found.is_none_or(|found| over(self.entries, found.entries) || over(self.bytes, found.bytes))
    }
}

/// Counts that only the backend has. A device leaves such conditions to the backend.
#[derive(Debug, Clone, Copy)]
pub struct Counted<'a> {
    /// For each rule of the policy, by position: the number of this person's calls on this device that
    /// the rule matched within its own period. Missing counts as none.
    pub earlier: &'a [u32],
    /// How much the call touches. `None` until a preview reports it.
    pub quantity: Option<Quantity>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_runs_another_needs_both_and_has_the_higher_risk_and_the_effects_of_either() {
        let read = ToolFacts {
            name: "read_file",
            risk: Risk::Low,
            capabilities: &[Capability::FileRead],
            has_effects: false,
            role: None,
            can_undo: false,
            of_files: false,
            is_custom: false,
            called: None,
        };
        let delete = ToolFacts {
            name: "delete_file",
            risk: Risk::High,
            capabilities: &[Capability::FileDelete],
            has_effects: true,
            role: None,
            can_undo: true,
            of_files: false,
            is_custom: false,
            called: None,
        };
        for (one, other) in [(read, delete), (delete, read)] {
            let both = one.called_by(other);
            assert_eq!((both.name, both.risk, both.has_effects), (one.name, Risk::High, true));
            assert_eq!(both.names().collect::<Vec<_>>(), [one.name, other.name]);
            assert_eq!(both.called.unwrap().capabilities, other.capabilities);
        }
        assert!(!read.called_by(read).has_effects);
    }
}
