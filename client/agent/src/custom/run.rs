//! Runs a custom tool: its program, or a tool of its MCP server.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use orion_catalog::custom::{
    CustomReturns, Definition, PreparedCall, ProgramRun, Run, arguments_of, prepared,
};
use orion_commands::quote;
use orion_domain::{Digest, ErrorCode, ToolError};
use serde_json::Value;

use super::{mcp, reach};
use crate::call::{Outcome, ProgramEnd};
use crate::process::{Bounds, Launch};
use crate::programs::{
    CommandContext, MAX_FILE_BYTES, MAX_MEMORY, MAX_PROCESSES, ended_early, failed_command,
    not_run, reach_declared,
};
use crate::sandbox::{Metadata, Network, Rights};

/// Runs a call of a custom tool, or shows what it would start.
///
/// # Errors
/// As a command: a path that is not granted, a program that is missing or that calls may change, one that failed,
/// and one that was ended at a limit, at its deadline or by a person.
pub(crate) fn run(
    definition: &Definition,
    digest: Digest,
    arguments: Value,
    context: &CommandContext<'_>,
) -> Result<Outcome, ToolError> {
    context.check()?;
    let arguments = arguments_of(arguments);
    let call = prepared(definition, &arguments, context.places)?;
    let outcome = match &definition.run {
        Run::Program(run) => program(definition, run, &call, digest, context)?,
        Run::Mcp(run) => mcp::call(definition, run, &call, arguments, digest, context)?,
    };
    outcome.try_map(|data| {
        serde_json::to_value(data).map_err(|_| {
            let message = format!("The result of {} cannot be written as JSON.", definition.name);
            ToolError::new(ErrorCode::Internal, message)
        })
    })
}

/// Returns the answer of a preview.
pub(super) fn preview(
    definition: &Definition,
    call: &PreparedCall,
    program: String,
    digest: Digest,
) -> Outcome<CustomReturns> {
    let command = &call.command;
    let message = match &definition.run {
        Run::Program(_) => format!("Would run `{}` in {}.", text(call), command.folder),
        Run::Mcp(run) => format!("Would call {} of the server {}.", run.tool, run.server),
    };
    Outcome::new(message, CustomReturns { program, ..returns(call, digest) })
}

/// Returns the answer of a call of which nothing is known yet.
pub(super) fn returns(call: &PreparedCall, digest: Digest) -> CustomReturns {
    CustomReturns {
        program: call.command.program.clone(),
        arguments: call.command.arguments.clone(),
        folder: call.command.folder.to_string(),
        definition: digest.to_string(),
        exit_code: None,
        stdout: String::new(),
        stderr: String::new(),
        structured: None,
        duration: 0,
    }
}

/// Returns the program with its arguments as text, for people.
pub(super) fn text(call: &PreparedCall) -> String {
    let words = std::iter::once(&call.command.program).chain(&call.command.arguments);
    let quoted: Vec<String> = words.map(|word| quote(word)).collect();
    orion_domain::visible(&quoted.join(" "))
}

fn program(
    definition: &Definition,
    run: &ProgramRun,
    call: &PreparedCall,
    digest: Digest,
    context: &CommandContext<'_>,
) -> Result<Outcome<CustomReturns>, ToolError> {
    let PreparedCall { command, paths, hosts } = call;
    let paths: Vec<_> = paths.iter().map(|it| (it.path.clone(), it.access)).collect();
    let found = reach::program(context.programs, &command.program, &command.folder, context.roots)?;
    let code = reach::code(&found, &run.code, context.places, context.roots)?;
    let (mut granted, folder) =
        reach_declared(context.programs, context.roots, context.risk, (&command.folder, &paths))?;
    granted.extend(code);
    if context.dry_run {
        return Ok(preview(definition, call, found.file.display().to_string(), digest));
    }
    context.reserve_output()?;
    let scratch = context.programs.scratch(context.call)?;
    granted.extend(scratch.handle().map(|own| (own, Rights::ChangeAndExecute)));
    let mut environment = context.programs.environment();
    environment.insert("TMPDIR".to_owned(), scratch.path().display().to_string());
    let end = context.end_within(Duration::from_secs(u64::from(run.timeout)));
    let left = end.saturating_duration_since(Instant::now());
    let changes = paths.iter().any(|(_, access)| *access != orion_domain::Access::Read);
    let launch = Launch {
        program: found.file.clone(),
        name: found.named.display().to_string(),
        arguments: command.arguments.clone(),
        environment,
        rights: granted.iter().map(|(_, rights)| *rights).collect(),
        network: if hosts.is_empty() { Network::Nothing } else { Network::Hosts },
        metadata: if changes { Metadata::OfOpenFiles } else { Metadata::Nothing },
        bounds: bounds(left),
    };
    context.check()?;
    let began = Instant::now();
    let mut bytes = 0_u64;
    let mut output = |piece: &[u8]| {
        bytes = bytes.saturating_add(piece.len() as u64);
        let text = String::from_utf8_lossy(piece);
        let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        (context.progress)(bytes, None, &orion_domain::visible(line));
    };
    let ended = context
        .launch(&launch, &handles(&granted, &folder), &mut output)
        .map_err(|error| not_run(&found.file, error))?;
    let text = text(call);
    let end =
        ProgramEnd::new(text.clone(), ended.exit_code, &ended.stdout.last(), &ended.stderr.last());
    if let Some(error) = ended_early(&text, &ended, end.clone()) {
        return Err(error);
    }
    if ended.exit_code != Some(0) {
        return Err(failed_command(&text, ended.exit_code, ended.signal, end));
    }
    let truncated = ended.stdout.left_out() + ended.stderr.left_out() > 0;
    let returns = CustomReturns {
        program: found.file.display().to_string(),
        exit_code: ended.exit_code,
        stdout: ended.stdout.text(),
        stderr: ended.stderr.text(),
        duration: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        ..returns(call, digest)
    };
    Ok(Outcome::new(format!("Ran {}.", definition.name), returns).cut(truncated).of_program(end))
}

/// Returns the limits of a program that must end within a time.
pub(super) fn bounds(left: Duration) -> Bounds {
    Bounds {
        time_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        memory: MAX_MEMORY,
        processes: MAX_PROCESSES,
        file_bytes: MAX_FILE_BYTES,
    }
}

/// Returns the handles of a program, the folder to start in last.
pub(super) fn handles<'a>(
    granted: &'a [(OwnedFd, Rights)],
    folder: &'a OwnedFd,
) -> Vec<BorrowedFd<'a>> {
    let granted = granted.iter().map(|(handle, _)| handle.as_fd());
    granted.chain([folder.as_fd()]).collect()
}
