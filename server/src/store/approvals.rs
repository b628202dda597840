//! Approval requests: stored with the call's change of state, decided once, used once. Who may approve is
//! decided in `vote`; the rules that ask come from the policy.

mod ask;
mod decide_error;
mod end;
mod find;
mod habits;
mod new;
mod passkey;
mod row;
mod standing;
mod standing_rules;
mod vote;

pub(super) use ask::ask;
pub use ask::{AskError, CommittedWith};
pub use decide_error::DecideError;
pub(super) use end::{expire_of_plan, withdraw_of_plan};
pub use find::OpenRequest;
pub use habits::{VoteHabit, VoteRecord};
pub use new::NewApproval;
pub use row::{ApprovalRow, ApprovalState, Card, StandingApproval, Vote};
pub use standing::StandingKey;
pub use standing_rules::{MAX_RULES_ON_DEVICE, StandingRule};
pub use vote::{ApprovalScope, NewVote};
pub(super) use vote::{counts, is_enough_still, reopen, role_of, settle};

/// How many approval requests are listed or expired at a time.
const PAGE: i64 = 500;
/// The limit of open approval requests of one person.
pub const MAX_OPEN_OF_PERSON: i64 = 20;
/// The limit of open approval requests.
pub const MAX_OPEN: i64 = 500;

/// The votes on an approval request, as a column.
macro_rules! with_votes {
    () => {
        "(SELECT json_group_array(json_object('user', user_name, 'role', role, 'yes', yes, \
         'reason', reason, 'at', at, 'details_shown', details_shown, \
         'passkey', passkey_id)) FROM votes WHERE approval_id = approvals.id) AS votes_json"
    };
}
use with_votes;

/// Selects the approval requests of a plan's steps.
pub(super) const OF_PLAN: &str =
    concat!("SELECT *, ", with_votes!(), " FROM approvals WHERE plan_id = $1 ORDER BY id");
