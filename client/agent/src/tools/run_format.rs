//! Executes `run_format`.

use orion_catalog::project::Runner;
use orion_catalog::tools::run_format::{Arguments, Returns, RunFormat};
use orion_domain::ToolError;

use super::project::{describe, find};
use super::{CommandContext, CommandTool, Outcome};

impl CommandTool for RunFormat {
    fn run(
        arguments: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<Returns>, ToolError> {
        let Arguments { target, runner, timeout, .. } = &arguments;
        let found = find(arguments.task(), (target, *runner, *timeout), context)?;
        let (runner, line) = (found.runner, found.line);
        let returns = Returns {
            runner,
            command: line.to_owned(),
            exit_code: None,
            diff: None,
            stdout_tail: String::new(),
            stderr_tail: String::new(),
        };
        if context.dry_run {
            let message = found.preview();
            return Ok(Outcome::new(message, returns));
        }
        let finished = found.run(context)?;
        let end = finished.end();
        // Prettier names the files only.
        let diff = (runner != Runner::Prettier).then(|| finished.stdout.text());
        let returns = Returns {
            exit_code: finished.exit_code,
            diff,
            stdout_tail: end.stdout_tail.clone(),
            stderr_tail: end.stderr_tail.clone(),
            ..returns
        };
        let message = describe(line, finished.exit_code, None);
        Ok(Outcome::new(message, returns).cut(finished.is_cut()).of_program(end))
    }
}
