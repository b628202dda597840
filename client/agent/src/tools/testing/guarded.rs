//! What the guard derives from a call, for tests that have no guard.

use orion_domain::{Places, Touches, Undo};
use serde_json::Value;

use crate::changes::as_it_acts;
use crate::trash::Trash;

/// What the guard derives from a call.
#[derive(Default)]
pub(crate) struct GuardResult {
    pub(crate) touches: Touches,
    pub(crate) undo: Option<Undo>,
}

/// Evaluates a call as the guard does. Returns the default if its arguments do not fit.
pub(crate) fn judged(trash: &Trash, places: &Places, tool: &str, arguments: &Value) -> GuardResult {
    let Some(arguments) = arguments.as_object() else { return GuardResult::default() };
    let (spec, _) = orion_catalog::find(tool).unwrap();
    let Ok(parsed) = spec.parse(arguments.clone(), places) else { return GuardResult::default() };
    let parsed = as_it_acts(trash, parsed).unwrap();
    GuardResult { touches: parsed.touches, undo: parsed.undo }
}
