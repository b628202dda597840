//! Does one task with each project of the device, one after the other.

use orion_catalog::project::{ProjectResult, Runner, Task};
use orion_domain::{DevicePath, ErrorCode, ToolError};

use super::{counts, find};
use crate::call::ProgramEnd;
use crate::programs::CommandContext;

/// How a task ended with each project.
pub(in crate::tools) struct All {
    /// The projects, by name.
    pub(in crate::tools) results: Vec<ProjectResult>,
    /// Whether output was left out.
    pub(in crate::tools) is_cut: bool,
    is_preview: bool,
}

/// The results of all projects in one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::tools) struct Total {
    pub(in crate::tools) command: String,
    pub(in crate::tools) exit_code: Option<i32>,
    pub(in crate::tools) passed: Option<u64>,
    pub(in crate::tools) failed: Option<u64>,
    pub(in crate::tools) stdout_tail: String,
    pub(in crate::tools) stderr_tail: String,
}

/// Does a task with each project. Each is looked at before the first one is started. One whose files do not say
/// what does the task, or whose folder is gone, is reported, and the others are done.
///
/// # Errors
/// As [`find`], but for those two.
pub(in crate::tools) fn run(
    task: Task,
    projects: &[(String, DevicePath)],
    (runner, timeout): (Option<Runner>, u32),
    context: &CommandContext<'_>,
) -> Result<All, ToolError> {
    let found = |name: &str, folder: &DevicePath| match find(
        task,
        (folder.clone(), runner, timeout),
        context,
    ) {
        Ok(found) => Ok(Ok(found)),
        Err(error) if is_own(error.code) => Ok(Err(error.message)),
        Err(error) => Err(error.with("project", name)),
    };
    for (name, folder) in projects {
        drop(found(name, folder)?);
    }
    let mut all = All { results: Vec::new(), is_cut: false, is_preview: context.dry_run };
    for (done, (name, folder)) in (0..).zip(projects) {
        (context.progress)(done, Some(projects.len() as u64), "projects");
        let result = ProjectResult { project: name.clone(), ..ProjectResult::default() };
        let found = match found(name, folder)? {
            Ok(found) => found,
            Err(error) => {
                all.results.push(ProjectResult { error: Some(error), ..result });
                continue;
            }
        };
        let runner = found.runner;
        let result =
            ProjectResult { runner: Some(runner), command: found.line.to_owned(), ..result };
        if context.dry_run {
            all.results.push(result);
            continue;
        }
        let finished = found.run(context)?;
        let counts = counts(task, runner, &finished);
        let end = finished.end();
        all.is_cut |= finished.is_cut();
        all.results.push(ProjectResult {
            exit_code: finished.exit_code,
            passed: counts.map(|counts| counts.passed),
            failed: counts.map(|counts| counts.failed),
            stdout_tail: end.stdout_tail,
            stderr_tail: end.stderr_tail,
            ..result
        });
    }
    Ok(all)
}

/// Returns whether an error is one of a project and not of the call.
fn is_own(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::PreconditionFailed | ErrorCode::DirectoryNotFound)
}

impl All {
    /// Returns how the task ended, as a sentence.
    pub(in crate::tools) fn message(&self) -> String {
        let count = |wanted: fn(&ProjectResult) -> bool| {
            self.results.iter().filter(|result| wanted(result)).count()
        };
        let all = self.results.len();
        let unknown = count(|result| result.error.is_some());
        if self.is_preview {
            let known = all - unknown;
            return format!("Would run something in {known} of {all} projects.");
        }
        let good = count(|result| result.exit_code == Some(0));
        let Total { passed, failed, .. } = self.total();
        let tests = match (passed, failed) {
            (None, None) => String::new(),
            (passed, failed) => {
                let [passed, failed] = [passed, failed].map(Option::unwrap_or_default);
                format!(" {passed} passed, {failed} failed.")
            }
        };
        format!("It succeeded in {good} of {all} projects.{tests}")
    }

    /// Returns all results in one: tails are those of the first project that did not succeed, or of the last.
    pub(in crate::tools) fn total(&self) -> Total {
        let sum = |count: fn(&ProjectResult) -> Option<u64>| {
            let counts = self.results.iter().filter_map(count);
            counts
                .fold(None, |sum: Option<u64>, it| Some(sum.unwrap_or_default().saturating_add(it)))
        };
        let commands: Vec<_> = self
            .results
            .iter()
            .filter(|result| !result.command.is_empty())
            .map(|result| format!("{}: {}", result.project, result.command))
            .collect();
        let is_bad = |result: &&ProjectResult| result.exit_code != Some(0);
        let shown = self.results.iter().find(is_bad).or(self.results.last());
        Total {
            command: commands.join("; "),
            exit_code: shown.and_then(|result| result.exit_code),
            passed: sum(|result| result.passed),
            failed: sum(|result| result.failed),
            stdout_tail: shown.map(|result| result.stdout_tail.clone()).unwrap_or_default(),
            stderr_tail: shown.map(|result| result.stderr_tail.clone()).unwrap_or_default(),
        }
    }
}

impl From<Total> for ProgramEnd {
    fn from(total: Total) -> Self {
        let Total { command, exit_code, stdout_tail, stderr_tail, passed: _, failed: _ } = total;
        Self { command, exit_code, stdout_tail, stderr_tail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(project: &str, exit_code: Option<i32>, passed: Option<u64>) -> ProjectResult {
        ProjectResult {
            project: project.to_owned(),
            command: "make test".to_owned(),
            exit_code,
            passed,
            failed: passed.map(|_| 1),
            stdout_tail: format!("of {project}"),
            ..ProjectResult::default()
        }
    }

    #[test]
    fn the_total_is_of_all_and_shows_the_first_that_did_not_succeed() {
        let results = vec![
            result("a", Some(0), Some(2)),
            result("b", Some(2), Some(3)),
            result("c", Some(0), None),
        ];
        let all = All { results, is_cut: false, is_preview: false };
        let total = all.total();
        assert_eq!((total.exit_code, total.passed, total.failed), (Some(2), Some(5), Some(2)));
        assert_eq!(total.stdout_tail, "of b");
        assert_eq!(total.command, "a: make test; b: make test; c: make test");
        assert_eq!(all.message(), "It succeeded in 2 of 3 projects. 5 passed, 2 failed.");
        let good =
            All { results: vec![result("a", Some(0), None)], is_cut: false, is_preview: false };
        assert_eq!(good.total().exit_code, Some(0));
        assert_eq!(good.message(), "It succeeded in 1 of 1 projects.");
    }
}
