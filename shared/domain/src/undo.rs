//! What an undoing does. It takes back a call; where that call was an undoing itself, what it took back
//! is done again. However long the chain is, one call stands at its beginning, and its change comes and
//! goes.

use serde::{Deserialize, Serialize};

use crate::id::CallId;

/// What an undoing does, as it is recorded with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// The call that it names.
    pub call: CallId,
    /// The call whose change comes and goes: no undoing.
    pub first: CallId,
    /// The tool of that first call.
    pub tool: String,
    /// Whether that first call is done again, and not taken back.
    pub redo: bool,
}

impl Undo {
    /// Takes back a call of this tool, which is no undoing.
    #[must_use]
    pub const fn of_call(call: CallId, tool: String) -> Self {
        Self { call, first: call, tool, redo: false }
    }

    /// Takes back an undoing.
    #[must_use]
    pub fn of_undo(call: CallId, earlier: &Self) -> Self {
        Self { call, redo: !earlier.redo, ..earlier.clone() }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn every_second_undoing_of_a_chain_does_the_first_call_again() {
        let id = |number| CallId::new(Uuid::from_u128(number));
        let mut undo = Undo::of_call(id(1), "delete_file".to_owned());
        for number in 2..20 {
            assert_eq!((undo.call, undo.first), (id(number - 1), id(1)));
            assert_eq!((undo.tool.as_str(), undo.redo), ("delete_file", number % 2 == 1));
            undo = Undo::of_undo(id(number), &undo);
        }
    }
}
