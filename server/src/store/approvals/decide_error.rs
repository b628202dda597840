//! Why a vote on an approval request does not count.

use orion_domain::rule::Rate;
use orion_domain::{PlanId, Role};

use super::row::{ApprovalRow, ApprovalState};
use super::standing_rules::MAX_RULES_ON_DEVICE;
use crate::store::StoreError;

/// Why a vote does not count. Nothing was decided.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecideError {
    /// No such approval request exists.
    #[error("no approval request has that id; each is answered by its own")]
    NotFound,
    /// It was decided or withdrawn before; an approval is used once.
    #[error("this request was already {}", .0.as_str())]
    AlreadyDecided(ApprovalState),
    /// Its time is over.
    #[error("this approval has expired")]
    Expired,
    /// This person has approved before.
    #[error("you approved this already. Another person must approve it too")]
    AlreadyVoted,
    /// The person's role is too low.
    #[error("only the role {needed} can approve this call: {rule}")]
    Role {
        /// The role that may approve it.
        needed: Role,
        /// The policy line that requires the approval.
        rule: String,
    },
    /// The vote of the call's requester or author does not count.
    #[error(
        "you requested this call or wrote it yourself, so another person with the role {0} must approve it"
    )]
    OwnCall(Role),
    /// Every approver must sign with a passkey.
    #[error("this approval needs your passkey, which only the page can ask for")]
    PasskeyMissing,
    /// The passkey signed another request, or what this one showed before.
    #[error(
        "your passkey signed something else than this request shows now, so nothing was approved"
    )]
    OtherSigned,
    /// A rule would cover other paths than the person was shown.
    #[error("a rule would now cover other paths than were shown, so nothing was approved")]
    OtherPaths,
    /// The passkey was removed or signed again since.
    #[error("your passkey was removed or used elsewhere since, so nothing was approved")]
    PasskeyGone,
    /// Every approver must give a reason.
    #[error("this approval needs a reason")]
    ReasonMissing,
    /// The person has approved as often as the policy allows.
    #[error(
        "you have approved {approvals} in {period} already, and the policy allows no more. Your approval did not count",
        approvals = times(.0.calls), period = period(.0.per_seconds)
    )]
    OverBudget(Rate),
    /// The device has reached its limit of standing rules.
    #[error(
        "this device has the maximum of {MAX_RULES_ON_DEVICE} rules made from approvals, and the request is still open"
    )]
    TooManyRules,
    /// The approval may not cover more than this call.
    #[error("this approval can be given only once, for this call: {0}")]
    OnlyOnce(&'static str),
    /// The rule would hold for too long, or had ended already.
    #[error("a rule that an approval makes must end in the next 90 days")]
    RuleTime,
    /// It is decided with the other steps of its plan.
    #[error("this call is a step of the plan {0}, which is decided as a whole")]
    PartOfPlan(PlanId),
    /// The vote, or what follows from it, could not be stored.
    #[error("the database could not be written")]
    Store(#[from] StoreError),
}

impl DecideError {
    /// Returns why a person with a lower role than this request asks for cannot approve it.
    #[must_use]
    pub fn role(row: &ApprovalRow) -> Self {
        Self::Role { needed: row.approvers.role, rule: row.rule.clone() }
    }
}

fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// Formats a period in its largest whole unit.
fn period(seconds: u32) -> String {
    const UNITS: [(u32, &str); 3] = [(86_400, "day"), (3_600, "hour"), (60, "minute")];
    let whole =
        UNITS.into_iter().find(|(unit, _)| seconds >= *unit && seconds.is_multiple_of(*unit));
    let (unit, name) = whole.unwrap_or((1, "second"));
    match seconds / unit {
        1 => format!("one {name}"),
        count => format!("{count} {name}s"),
    }
}
