//! Runs a program in a folder of the agent's own, which it may change and execute. It reaches nothing else but what
//! every program needs of the system.

use std::path::Path;
use std::time::{Duration, Instant};

use orion_domain::{ErrorCode, ToolError};

use super::{CommandContext, bounds, ended_early, failed_command, not_run, program_at, system};
use crate::call::ProgramEnd;
use crate::process::Launch;
use crate::sandbox::{Metadata, Network, Rights};

/// Runs the program at a relative path of the folder, without a network, for so long at most.
///
/// # Errors
/// A program that is missing, that may not be executed, that failed, and one that was ended at a limit, at its
/// deadline or by a person.
pub(crate) fn run_in_own_folder(
    folder: &Path,
    program: &Path,
    time: Duration,
    context: &CommandContext<'_>,
) -> Result<(), ToolError> {
    let text = program.display().to_string();
    let refused = |why: &str| ToolError::new(ErrorCode::ExecutionFailed, format!("{text} {why}."));
    let found = program_at(&folder.join(program))
        .ok_or_else(|| refused("is no file of it that may be executed"))?;
    let opened = || system::handle(folder).ok_or_else(|| refused("has no folder to start in"));
    context.reserve_output()?;
    let scratch = context.programs.scratch(context.call)?;
    let granted: Vec<_> = system::handles(context.programs.home.as_deref(), context.roots)
        .chain(scratch.handle().map(|own| (own, Rights::ChangeAndExecute)))
        .chain([(opened()?, Rights::ChangeAndExecute)])
        .collect();
    let mut environment = context.programs.environment();
    let temporary = scratch.path().display().to_string();
    for name in ["TMPDIR", "HOME"] {
        environment.insert(name.to_owned(), temporary.clone());
    }
    let left = context.end_within(time).saturating_duration_since(Instant::now());
    let launch = Launch {
        program: found.file.clone(),
        name: found.named.display().to_string(),
        arguments: Vec::new(),
        environment,
        rights: granted.iter().map(|(_, rights)| *rights).collect(),
        network: Network::Nothing,
        metadata: Metadata::OfOpenFiles,
        bounds: bounds(left),
    };
    let start = opened()?;
    let handles = granted.iter().map(|(handle, _)| handle).chain([&start]);
    let handles: Vec<_> = handles.map(std::os::fd::AsFd::as_fd).collect();
    context.check()?;
    let ended =
        context.launch_watched(&launch, &handles).map_err(|error| not_run(program, error))?;
    let (stdout, stderr) = (ended.stdout.last(), ended.stderr.last());
    let end = ProgramEnd::new(text.clone(), ended.exit_code, &stdout, &stderr);
    if let Some(error) = ended_early(&text, &ended, end.clone()) {
        return Err(error);
    }
    if ended.exit_code == Some(0) {
        return Ok(());
    }
    Err(failed_command(&text, ended.exit_code, ended.signal, end))
}
