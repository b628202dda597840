//! Executes `run_format`.

use orion_catalog::project::{ProjectTarget, Runner};
use orion_catalog::tools::run_format::{Arguments, Returns, RunFormat};
use orion_domain::ToolError;

use super::project::{all, describe, find, with_projects};
use super::{CommandContext, CommandTool, Outcome};

impl CommandTool for RunFormat {
    fn run(
        arguments: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<Returns>, ToolError> {
        let Arguments { target, runner, timeout, .. } = &arguments;
        let folder = match ProjectTarget::parse(target, context.places)? {
            ProjectTarget::One(folder) => folder,
            ProjectTarget::All(projects) => {
                let all = all::run(arguments.task(), &projects, (*runner, *timeout), context)?;
                let (message, total) = (all.message(), all.total());
                let returns = Returns {
                    runner: None,
                    command: total.command.clone(),
                    exit_code: total.exit_code,
                    diff: None,
                    stdout_tail: total.stdout_tail.clone(),
                    stderr_tail: total.stderr_tail.clone(),
                    projects: all.results,
                };
                return Ok(Outcome::new(message, returns).cut(all.is_cut).of_program(total.into()));
            }
        };
        let found = find(arguments.task(), (folder, *runner, *timeout), context)
            .map_err(|error| with_projects(error, target, context))?;
        let (runner, line) = (found.runner, found.line);
        let returns = Returns {
            runner: Some(runner),
            command: line.to_owned(),
            exit_code: None,
            diff: None,
            stdout_tail: String::new(),
            stderr_tail: String::new(),
            projects: Vec::new(),
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
