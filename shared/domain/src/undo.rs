//! The effect of an undo call. It undoes another call; undoing an undo repeats what the earlier undo
//! took back. However long the chain is, it starts with one ordinary call, whose change is undone and
//! repeated in turns.

use serde::{Deserialize, Serialize};

use crate::id::CallId;

/// The effect of an undo call, as stored with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// The call that the undo names.
    pub call: CallId,
    /// The ordinary call at the start of the chain.
    pub first: CallId,
    /// The tool of that first call.
    pub tool: String,
    /// Whether the first call is repeated rather than undone.
    pub redo: bool,
}

impl Undo {
    /// Undoes an ordinary call of this tool.
    #[must_use]
    pub const fn of_call(call: CallId, tool: String) -> Self {
        Self { call, first: call, tool, redo: false }
    }

    /// Undoes an undo call.
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
