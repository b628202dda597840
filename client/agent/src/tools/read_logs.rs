//! Executes `read_logs`.

mod containers;
mod journal;
mod newest;
mod tail;

use orion_catalog::tools::read_logs::{Arguments, ReadLogs, Returns, Source};
use orion_domain::ToolError;
use orion_domain::services::ServiceKind;

use self::newest::Newest;
use super::counted::counted;
use super::search_text::expression::{parse, room_bytes};
use super::{CommandContext, CommandTool, Outcome};

/// Memory for the lines of one call beside its expression, in bytes.
const LINES_BYTES: u64 = 4 * 1024 * 1024;

/// Which lines are wanted.
struct Wanted<'a> {
    /// The lines that were found, and the expression that they match.
    newest: Newest,
    /// The first second of the lines, since 1970. `None` for all.
    since: Option<i64>,
    /// Memory that the call needs beside the output of programs, in bytes.
    memory: u64,
    context: &'a CommandContext<'a>,
}

impl CommandTool for ReadLogs {
    fn run(
        arguments: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<Returns>, ToolError> {
        let now = jiff::Timestamp::now().as_second();
        let since = arguments.since()?.map(|since| since.second(now));
        let source = arguments.source()?;
        let grep = arguments.grep.as_deref();
        let memory = LINES_BYTES + grep.map_or(0, room_bytes);
        // An expression takes memory from here on.
        context.reserve_output_and(memory)?;
        let newest = Newest::new(arguments.lines, grep.map(parse).transpose()?);
        let mut wanted = Wanted { newest, since, memory, context };
        let (what, note) = match source {
            Source::Service(service) => {
                let note = match service.kind() {
                    ServiceKind::Unit => journal::read(&service, &mut wanted)?,
                    ServiceKind::Container | ServiceKind::Compose => {
                        containers::read(&service, &mut wanted)?;
                        String::new()
                    }
                };
                (service.to_string(), note)
            }
            Source::File(path) => (tail::read(&path, &mut wanted)?, String::new()),
        };
        let Newest { lines, truncated, .. } = wanted.newest;
        let count = lines.len() as u64;
        let found = match count {
            0 => "no line".to_owned(),
            count => counted(count, "line"),
        };
        let more = if truncated { ", and there may be more" } else { "" };
        let message = format!("{what}: {found}{more}.{note}");
        Ok(Outcome::new(message, Returns { lines: lines.into(), count, truncated }).cut(truncated))
    }
}

#[cfg(test)]
mod tests;
