//! Runs a custom tool: its program, or a tool of its MCP server.

use std::time::{Duration, Instant};

use orion_catalog::custom::{
    CustomReturns, Definition, PreparedCall, ProgramRun, Run, arguments_of, prepared,
};
use orion_commands::quote;
use orion_domain::{Access, DevicePath, Digest, ToolError};
use serde_json::Value;

use super::mcp;
use super::start::Wanted;
use crate::call::{Outcome, ProgramEnd};
use crate::programs::{CommandContext, ended_early, failed_command, not_run};

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
    outcome.encoded(&definition.name)
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
    let declared = Declared::of(definition, call);
    let wanted = declared.wanted();
    let found = wanted.find(context.programs, context.roots, context.risk, context.places)?;
    let file = found.program.file.clone();
    if context.dry_run {
        return Ok(preview(definition, call, file.display().to_string(), digest));
    }
    context.reserve_output()?;
    let scratch = context.programs.scratch(context.call)?;
    let end = context.end_within(Duration::from_secs(u64::from(run.timeout)));
    let left = end.saturating_duration_since(Instant::now());
    let ready = wanted.ready(found, context.programs, &scratch, left);
    context.check()?;
    let began = Instant::now();
    let ended = context
        .launch_watched(&ready.launch, &ready.reached.handles())
        .map_err(|error| not_run(&file, error))?;
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
        program: file.display().to_string(),
        exit_code: ended.exit_code,
        stdout: ended.stdout.text(),
        stderr: ended.stderr.text(),
        duration: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        ..returns(call, digest)
    };
    Ok(Outcome::new(format!("Ran {}.", definition.name), returns).cut(truncated).of_program(end))
}

/// What the program of a call gets by its definition.
pub(super) struct Declared<'a> {
    definition: &'a Definition,
    call: &'a PreparedCall,
    paths: Vec<(DevicePath, Access)>,
    fixed: Vec<&'a str>,
    data: Vec<DevicePath>,
}

impl<'a> Declared<'a> {
    pub(super) fn of(definition: &'a Definition, call: &'a PreparedCall) -> Self {
        let changed = call.paths.iter().filter(|it| !it.is_argument && it.access != Access::Read);
        Self {
            definition,
            call,
            paths: call.paths.iter().map(|it| (it.path.clone(), it.access)).collect(),
            fixed: definition.run.fixed_arguments(),
            data: changed.map(|it| it.path.clone()).collect(),
        }
    }

    /// Returns what the call starts.
    pub(super) fn wanted(&self) -> Wanted<'_> {
        let PreparedCall { command, paths: _, hosts } = self.call;
        Wanted {
            program: &command.program,
            arguments: &command.arguments,
            folder: &command.folder,
            paths: &self.paths,
            code: self.definition.run.code(),
            fixed: &self.fixed,
            data: &self.data,
            environment: match &self.definition.run {
                Run::Program(_) => &[],
                Run::Mcp(run) => &run.environment,
            },
            connects: !hosts.is_empty(),
        }
    }
}
