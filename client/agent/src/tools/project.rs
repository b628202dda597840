//! Does one task with a project: finds the program for it, runs it confined, and counts what it says.

pub(super) mod all;
mod count;
mod detect;

use std::time::Duration;

use orion_catalog::project::{ProjectArguments, ProjectReturns, ProjectTarget, Runner, Task};
use orion_domain::{Access, DevicePath, ErrorCode, Hint, ToolError};

use super::Outcome;
use super::run_commands::{Finished, Order, Prepared, prepare};
use crate::programs::CommandContext;

/// A task that can be started.
pub(super) struct Found {
    /// The program that does it.
    pub(super) runner: Runner,
    /// What is started, as text.
    pub(super) line: &'static str,
    /// The folder of the project.
    pub(super) folder: DevicePath,
    prepared: Prepared,
}

impl Found {
    /// Runs the task.
    ///
    /// # Errors
    /// As [`Prepared::run`].
    pub(super) fn run(self, context: &CommandContext<'_>) -> Result<Finished, ToolError> {
        self.prepared.run(context)
    }

    /// Returns what a preview says.
    pub(super) fn preview(&self) -> String {
        format!("Would run `{}` in {}.", self.line, self.folder)
    }
}

/// Finds the program that does a task, and what it reaches.
///
/// # Errors
/// A folder that is missing or not granted, one whose files do not say what does the task, a program that is
/// missing or not granted.
pub(super) fn find(
    task: Task,
    (folder, runner, timeout): (DevicePath, Option<Runner>, u32),
    context: &CommandContext<'_>,
) -> Result<Found, ToolError> {
    let runner = match runner {
        Some(runner) => runner,
        None => {
            let runner = detect::runner(task, &context.roots.locate(&folder, Access::Read)?)?;
            let commands = runner.commands(task)?;
            let touched = commands.iter().map(|command| command.touch(&folder)).collect();
            context.risk.hold_commands(touched).map_err(|error| {
                error.hint(Hint::new(format!("name the runner {} in the call", runner.as_str())))
            })?;
            runner
        }
    };
    let line = runner.line(task).unwrap_or_default();
    let order = Order {
        commands: runner.commands(task)?,
        folder: &folder,
        text: line.to_owned(),
        network: false,
        time: Duration::from_secs(u64::from(timeout)),
    };
    let prepared = prepare(order, context)?;
    Ok(Found { runner, line, folder, prepared })
}

/// Does a task.
///
/// # Errors
/// As [`find`] and [`Found::run`].
pub(super) fn run(
    task: Task,
    arguments: &ProjectArguments,
    context: &CommandContext<'_>,
) -> Result<Outcome<ProjectReturns>, ToolError> {
    let ProjectArguments { target, runner, timeout } = arguments;
    let folder = match ProjectTarget::parse(target, context.places)? {
        ProjectTarget::One(folder) => folder,
        ProjectTarget::All(projects) => {
            let all = all::run(task, &projects, (*runner, *timeout), context)?;
            let (message, total) = (all.message(), all.total());
            let returns = ProjectReturns {
                runner: None,
                command: total.command.clone(),
                exit_code: total.exit_code,
                passed: total.passed,
                failed: total.failed,
                stdout_tail: total.stdout_tail.clone(),
                stderr_tail: total.stderr_tail.clone(),
                projects: all.results,
            };
            return Ok(Outcome::new(message, returns).cut(all.is_cut).of_program(total.into()));
        }
    };
    let found = find(task, (folder, *runner, *timeout), context)
        .map_err(|error| with_projects(error, target, context))?;
    let (runner, line) = (found.runner, found.line);
    if context.dry_run {
        let message = found.preview();
        return Ok(Outcome::new(message, returns(runner, line)));
    }
    let finished = found.run(context)?;
    let counts = counts(task, runner, &finished);
    let end = finished.end();
    let returns = ProjectReturns {
        exit_code: finished.exit_code,
        passed: counts.map(|counts| counts.passed),
        failed: counts.map(|counts| counts.failed),
        stdout_tail: end.stdout_tail.clone(),
        stderr_tail: end.stderr_tail.clone(),
        ..returns(runner, line)
    };
    let message = describe(line, finished.exit_code, counts);
    Ok(Outcome::new(message, returns).cut(finished.is_cut()).of_program(end))
}

/// Names the projects of the device in the error for a target that is no folder and could be meant as one.
pub(super) fn with_projects(
    error: ToolError,
    target: &str,
    context: &CommandContext<'_>,
) -> ToolError {
    let is_word = !target.contains(['/', '\\']) && target != ".";
    if error.code != ErrorCode::DirectoryNotFound || !is_word {
        return error;
    }
    let names = context.places.projects.names();
    let hint = match names.as_slice() {
        [] => "the owner of the device lists projects under [projects] in agent.toml".to_owned(),
        names => format!("the projects of the device are {}", names.join(", ")),
    };
    error.with("projects", names).hint(hint)
}

fn returns(runner: Runner, line: &str) -> ProjectReturns {
    ProjectReturns {
        runner: Some(runner),
        command: line.to_owned(),
        exit_code: None,
        passed: None,
        failed: None,
        stdout_tail: String::new(),
        stderr_tail: String::new(),
        projects: Vec::new(),
    }
}

fn counts(task: Task, runner: Runner, finished: &Finished) -> Option<count::Counts> {
    match task {
        Task::Test => count::tests(runner, &finished.stdout.text(), &finished.stderr.text()),
        Task::Lint | Task::Build | Task::Typecheck | Task::CheckFormat | Task::Format => None,
    }
}

/// Returns how a task ended, as a sentence.
pub(super) fn describe(
    line: &str,
    exit_code: Option<i32>,
    counts: Option<count::Counts>,
) -> String {
    let how = match exit_code {
        Some(0) => "succeeded".to_owned(),
        Some(code) => format!("ended with exit code {code}"),
        None => "was ended by a signal".to_owned(),
    };
    match counts {
        Some(counts) => {
            format!("`{line}` {how}: {} passed, {} failed.", counts.passed, counts.failed)
        }
        None => format!("`{line}` {how}."),
    }
}
