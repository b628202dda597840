//! Calls: stored before anything is sent, moved forward by guarded updates, closed once. Nothing is
//! evaluated or sent here.

mod advance;
mod close;
mod counts;
mod covered;
mod event;
mod find;
mod history;
mod key;
mod list;
mod new;
mod open;
mod open_calls;
mod recover;
mod row;
mod state_change;
mod unsettled;
mod waiting;

use orion_domain::CallState;

use super::db::Durability;

pub(super) use advance::{advancing, waiting_for};
pub(super) use close::{close_reported, closing};
pub(super) use open::{open, opening};
pub(super) use open_calls::OpenCalls;

pub use close::ClosedBy;
pub use counts::Admitted;
pub use history::{RecordedCall, first_id_at};
pub use list::ListedCall;
pub use new::{CloseCall, NewCall, Parent, Witness};
pub use row::CallRow;
pub use state_change::StateChange;
pub use unsettled::UnreconciledCall;
pub use waiting::{QueueError, QueueLimits};

/// The most states from which a call may move to one.
const MAX_SOURCES: usize = 6;

const fn durability(has_effects: bool) -> Durability {
    if has_effects { Durability::Fsync } else { Durability::Commit }
}

/// Returns the states from which a call may move to this one, as values of a statement. Where there are
/// fewer, the rest is no state.
fn sources(
    to: CallState,
    among: impl Fn(CallState) -> bool,
) -> [Option<&'static str>; MAX_SOURCES] {
    let mut sources = CallState::ALL
        .into_iter()
        .filter(|from| among(*from) && from.can_become(to))
        .map(CallState::as_str);
    std::array::from_fn(|_| sources.next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_every_state_from_which_a_call_may_move() {
        for to in CallState::ALL {
            let sources = CallState::ALL.into_iter().filter(|from| from.can_become(to));
            assert!(sources.count() <= MAX_SOURCES, "{to}");
        }
    }
}
