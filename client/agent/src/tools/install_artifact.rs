//! Executes `install_artifact`: step by step, and back again where a step fails.

mod preview;
mod undo;
mod work;

use std::time::{Duration, Instant};

use orion_catalog::tools::install_artifact::{Arguments, InstallArtifact, Returns, Wanted};
use orion_domain::{ErrorCode, ToolError};

use super::artifact::folder::{self, Place};
use super::{CommandContext, CommandTool, Context, Outcome};
use work::Work;

/// What is left of a call's time for undoing what it began.
const TO_UNDO: Duration = Duration::from_secs(45);

impl CommandTool for InstallArtifact {
    fn run(
        arguments: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<Returns>, ToolError> {
        let wanted = arguments.wanted()?;
        let place = Place::of(&wanted.name, context);
        // Looked at in its turn: another call may be installing the same.
        let _turn = if context.dry_run { None } else { Some(folder::turn()?) };
        if let Some(manifest) = place.installed()? {
            return Err(already(&wanted, &manifest.version));
        }
        if context.dry_run {
            return preview::preview(&wanted, &place, context);
        }
        let left = context.deadline.saturating_duration_since(Instant::now());
        let deadline = context.deadline.checked_sub(TO_UNDO.min(left / 2));
        let deadline = deadline.unwrap_or(context.deadline);
        let working = CommandContext { common: Context { deadline, ..context.common }, ..*context };
        let mut work = Work::new(&wanted, &place);
        match work.run(&working) {
            Ok(version) => {
                let message = format!("Installed {} {version}, and it is well.", wanted.name);
                let data = Returns { steps: work.steps, healthy: true };
                Ok(Outcome::new(message, data))
            }
            Err(error) => Err(undo::undo(work, error, context)),
        }
    }
}

fn already(wanted: &Wanted, version: &str) -> ToolError {
    let name = &wanted.name;
    let message = format!("{name} is installed on this device already, in version {version}.");
    ToolError::new(ErrorCode::AlreadyExists, message)
        .with("version", version)
        .hint("see how it is with verify_artifact")
}
