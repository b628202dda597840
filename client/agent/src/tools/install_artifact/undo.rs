//! Undoes what a failed installation began, and says what became of that.

use std::sync::atomic::AtomicBool;

use orion_domain::ToolError;

use super::super::artifact::compose;
use super::super::{CommandContext, Context};
use super::work::Work;

/// Undoes what was begun. Returns the error with every step, and what was undone and what was not.
pub(super) fn undo(work: Work<'_>, error: ToolError, context: &CommandContext<'_>) -> ToolError {
    // A call that was cancelled still cleans up, until its deadline.
    let goes_on = AtomicBool::new(false);
    let context =
        CommandContext { common: Context { cancelled: &goes_on, ..context.common }, ..*context };
    let Work { wanted, place, steps, has_folder, has_containers } = work;
    let project = wanted.name.project();
    let mut said = Vec::new();
    let mut is_undone = true;
    if has_containers {
        match compose::down(&wanted.name, &context) {
            Ok(()) => said.push(
                "Its containers and networks were removed; volumes and images stay.".to_owned(),
            ),
            Err(why) => {
                is_undone = false;
                said.push(format!(
                    "Its containers could not be removed and may run: {} Run on the device: docker compose --project-name {project} down.",
                    why.message
                ));
            }
        }
    }
    if has_folder && is_undone {
        match place.remove() {
            Ok(()) => said.push("Its folder was removed.".to_owned()),
            Err(why) => {
                is_undone = false;
                said.push(why.message);
            }
        }
    } else if has_folder {
        // The containers may use it.
        said.push("Its folder was left.".to_owned());
    }
    if said.is_empty() {
        said.push("This call installed nothing.".to_owned());
    }
    let mut error = error;
    error.message = format!("{} {}", error.message, said.join(" "));
    error.with("steps", serde_json::json!(steps)).with("undone", is_undone)
}
