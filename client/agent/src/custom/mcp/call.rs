//! A call of a tool of a server.

use std::sync::atomic::Ordering;
use std::time::Instant;

use orion_catalog::custom::{CustomReturns, Definition, McpRun, PreparedCall};
use orion_domain::{Actor, Digest, ErrorCode, Hint, ToolError};
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock};
use serde_json::{Map, Value};

use super::define::{description, parameters};
use super::talk::{TalkError, talk};
use crate::call::{Outcome, ProgramEnd};
use crate::custom::run::{Declared, preview, returns, text};
use crate::programs::{CommandContext, ended_early, failed_command, not_run};

/// The most bytes of texts that are returned.
const MAX_TEXT: usize = 256 * 1024;
/// The most bytes of the structured result that is returned.
const MAX_STRUCTURED: usize = 256 * 1024;

/// Starts the server, checks that the tool is the one that was approved, and calls it.
///
/// # Errors
/// As a program of a custom tool, `PRECONDITION_FAILED` for a tool that the server describes otherwise by now, and
/// `EXECUTION_FAILED` for one that failed.
pub(crate) fn call(
    definition: &Definition,
    run: &McpRun,
    call: &PreparedCall,
    arguments: Map<String, Value>,
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
    let deadline = context.end_within(std::time::Duration::MAX / 4);
    let left = deadline.saturating_duration_since(Instant::now());
    let server = wanted.ready(found, context.programs, &scratch, left);
    context.check()?;
    let began = Instant::now();
    let goes_on = || !context.cancelled.load(Ordering::Relaxed);
    let answered = talk(context.programs.launcher(), server, deadline, &goes_on, async |client| {
        let failed = |error: rmcp::ServiceError| TalkError::Protocol(error.to_string());
        let offered = client.list_all_tools().await.map_err(failed)?;
        let tool = offered.iter().find(|tool| tool.name == run.tool.as_str());
        let is_same = tool.is_some_and(|tool| {
            definition.description == description(tool) && definition.parameters == parameters(tool)
        });
        if !is_same {
            return Ok(None);
        }
        let request = CallToolRequestParams::new(run.tool.clone()).with_arguments(arguments);
        let result = client.call_tool(request).await.map_err(failed)?;
        if client.service().has_heard() {
            context.programs.relist();
        }
        Ok(Some(result))
    });
    let result = match answered {
        Ok(Some(result)) => result,
        Ok(None) => {
            context.programs.relist();
            return Err(changed(definition));
        }
        Err(error) => return Err(unanswered(error, run, call, &file, context)),
    };
    let duration = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let answer = answer(
        definition,
        result,
        CustomReturns { program: file.display().to_string(), duration, ..returns(call, digest) },
    )?;
    Ok(answer)
}

fn answer(
    definition: &Definition,
    result: CallToolResult,
    returns: CustomReturns,
) -> Result<Outcome<CustomReturns>, ToolError> {
    let texts: Vec<String> = result.content.iter().map(block).collect();
    let mut text = texts.join("\n");
    let mut is_cut = text.len() > MAX_TEXT;
    text.truncate(text.floor_char_boundary(MAX_TEXT));
    if result.is_error == Some(true) {
        let tail: String = text.chars().take(4_000).collect();
        let message = format!("{} failed, as its server says.", definition.name);
        return Err(ToolError::new(ErrorCode::ExecutionFailed, message).with("stdout_tail", tail));
    }
    let structured = result.structured_content.filter(|value| {
        let fits = value.to_string().len() <= MAX_STRUCTURED;
        is_cut |= !fits;
        fits
    });
    let returns = CustomReturns { stdout: text, structured, ..returns };
    Ok(Outcome::new(format!("Called {}.", definition.name), returns).cut(is_cut))
}

/// Returns a part of a result as text.
fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(_) => "[an image]".to_owned(),
        ContentBlock::Audio(_) => "[a sound]".to_owned(),
        ContentBlock::Resource(_) => "[a resource]".to_owned(),
        ContentBlock::ResourceLink(_) => "[a link to a resource]".to_owned(),
        _ => "[something else]".to_owned(),
    }
}

fn changed(definition: &Definition) -> ToolError {
    let message =
        format!("The server describes {} otherwise than when it was approved.", definition.name);
    ToolError::new(ErrorCode::PreconditionFailed, message).hint(
        Hint::run("read and approve the new definition", "orion tools pending").by(Actor::Admin),
    )
}

fn unanswered(
    error: TalkError,
    run: &McpRun,
    call: &PreparedCall,
    program: &std::path::Path,
    context: &CommandContext<'_>,
) -> ToolError {
    let server = &run.server;
    match error {
        TalkError::Launch(error) => not_run(program, error),
        TalkError::Ended(ended) => {
            let text = text(call);
            let (stdout, stderr) = (ended.stdout.last(), ended.stderr.last());
            let end = ProgramEnd::new(text.clone(), ended.exit_code, &stdout, &stderr);
            let early = ended_early(&text, &ended, end.clone());
            early.unwrap_or_else(|| failed_command(&text, ended.exit_code, ended.signal, end))
        }
        TalkError::Protocol(why) => {
            let why = orion_domain::strip_hidden(&why, 500);
            let message = format!("The MCP server {server} did not answer as its protocol has it.");
            ToolError::new(ErrorCode::ExecutionFailed, message).with("reason", why)
        }
        TalkError::Interrupted if context.cancelled.load(Ordering::Relaxed) => {
            let message = format!("The call was cancelled, and the MCP server {server} was ended.");
            ToolError::new(ErrorCode::Cancelled, message)
        }
        TalkError::Interrupted => {
            let message = format!("The MCP server {server} took too long and was ended.");
            ToolError::new(ErrorCode::Timeout, message)
        }
    }
}
