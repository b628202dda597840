//! What the tools of a project have in common: the programs that do each task, and the lines that start them.

use orion_commands::split;
use orion_domain::path::ALL_PROJECTS;
use orion_domain::{Access, DevicePath, ErrorCode, Places, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::argument_path::path;
use crate::command::{JudgedCommand, MAX_TIMEOUT_S, touches_of};

/// Why a person should look at a call that runs a project's code.
pub const RUNS_PROJECT: &str = "What the files of the project say is run, in the sandbox.";

/// What is to be done with a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Runs the tests.
    Test,
    /// Looks for mistakes in the source.
    Lint,
    /// Builds.
    Build,
    /// Checks the types.
    Typecheck,
    /// Checks the format of the source.
    CheckFormat,
    /// Formats the source, and says what that changes.
    Format,
}

impl Task {
    /// Every task.
    pub const ALL: [Self; 6] =
        [Self::Test, Self::Lint, Self::Build, Self::Typecheck, Self::CheckFormat, Self::Format];

    /// Returns the task as the end of a sentence.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Test => "runs the tests",
            Self::Lint => "looks for mistakes",
            Self::Build => "builds",
            Self::Typecheck => "checks the types",
            Self::CheckFormat => "checks the format",
            Self::Format => "formats the source",
        }
    }
}

/// The program that does a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is the program's own name")]
pub enum Runner {
    Cargo,
    Npm,
    Pnpm,
    Yarn,
    Pytest,
    Go,
    Make,
    Eslint,
    Ruff,
    Tsc,
    Mypy,
    Prettier,
    Black,
}

impl Runner {
    /// Every runner.
    pub const ALL: [Self; 13] = [
        Self::Cargo,
        Self::Npm,
        Self::Pnpm,
        Self::Yarn,
        Self::Pytest,
        Self::Go,
        Self::Make,
        Self::Eslint,
        Self::Ruff,
        Self::Tsc,
        Self::Mypy,
        Self::Prettier,
        Self::Black,
    ];

    /// Returns the name that calls use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn => "yarn",
            Self::Pytest => "pytest",
            Self::Go => "go",
            Self::Make => "make",
            Self::Eslint => "eslint",
            Self::Ruff => "ruff",
            Self::Tsc => "tsc",
            Self::Mypy => "mypy",
            Self::Prettier => "prettier",
            Self::Black => "black",
        }
    }

    /// Returns the line that does a task with this runner. `None` where the runner does not do it.
    #[must_use]
    pub fn line(self, task: Task) -> Option<&'static str> {
        LINES.iter().find(|row| (row.0, row.1) == (self, task)).map(|row| row.2)
    }

    /// Returns the commands that do a task with this runner.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` where the runner does not do it.
    pub fn commands(self, task: Task) -> Result<Vec<JudgedCommand>, ToolError> {
        let Some(line) = self.line(task) else {
            let fitting = Self::ALL.iter().filter(|it| it.line(task).is_some());
            let fitting: Vec<_> = fitting.map(|it| it.as_str()).collect();
            let message = format!(
                "No line of {} {}. These do: {}.",
                self.as_str(),
                task.describe(),
                fitting.join(", ")
            );
            return Err(ToolError::new(ErrorCode::InvalidArgument, message));
        };
        split(line)?.into_iter().map(JudgedCommand::of).collect()
    }
}

/// Every line that these tools start.
const LINES: &[(Runner, Task, &str)] = &[
    (Runner::Cargo, Task::Test, "cargo test --offline --no-fail-fast"),
    (Runner::Cargo, Task::Lint, "cargo clippy --offline --all-targets"),
    (Runner::Cargo, Task::Build, "cargo build --offline"),
    (Runner::Cargo, Task::Typecheck, "cargo check --offline --all-targets"),
    (Runner::Cargo, Task::CheckFormat, "cargo fmt --all --check"),
    (Runner::Cargo, Task::Format, "cargo fmt --all --check; cargo fmt --all"),
    (Runner::Npm, Task::Test, "npm test"),
    (Runner::Npm, Task::Lint, "npm run lint"),
    (Runner::Npm, Task::Build, "npm run build"),
    (Runner::Npm, Task::Typecheck, "npm run typecheck"),
    (Runner::Pnpm, Task::Test, "pnpm test"),
    (Runner::Pnpm, Task::Lint, "pnpm run lint"),
    (Runner::Pnpm, Task::Build, "pnpm run build"),
    (Runner::Pnpm, Task::Typecheck, "pnpm run typecheck"),
    (Runner::Yarn, Task::Test, "yarn test"),
    (Runner::Yarn, Task::Lint, "yarn run lint"),
    (Runner::Yarn, Task::Build, "yarn run build"),
    (Runner::Yarn, Task::Typecheck, "yarn run typecheck"),
    (Runner::Pytest, Task::Test, "pytest"),
    (Runner::Go, Task::Test, "go test -v ./..."),
    (Runner::Go, Task::Lint, "go vet ./..."),
    (Runner::Go, Task::Typecheck, "go vet ./..."),
    (Runner::Go, Task::Build, "go build ./..."),
    (Runner::Make, Task::Test, "make test"),
    (Runner::Make, Task::Lint, "make lint"),
    (Runner::Make, Task::Build, "make"),
    (Runner::Eslint, Task::Lint, "npx eslint ."),
    (Runner::Ruff, Task::Lint, "ruff check ."),
    (Runner::Ruff, Task::CheckFormat, "ruff format --diff ."),
    (Runner::Ruff, Task::Format, "ruff format --diff .; ruff format ."),
    (Runner::Tsc, Task::Typecheck, "npx tsc --noEmit"),
    (Runner::Mypy, Task::Typecheck, "mypy ."),
    (Runner::Prettier, Task::CheckFormat, "npx prettier --check ."),
    (Runner::Prettier, Task::Format, "npx prettier --write ."),
    (Runner::Black, Task::CheckFormat, "black --check --diff ."),
    (Runner::Black, Task::Format, "black --check --diff .; black ."),
];

/// The arguments of a tool that does a task with a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectArguments {
    /// A project of the device's list, such as backend or frontend; all for each of them; or the folder of a
    /// project. The workspace when left out.
    #[serde(default = "here")]
    pub target: String,
    /// The program that does it. When left out, the files of the project say which.
    #[serde(default)]
    pub runner: Option<Runner>,
    /// Seconds until everything that was started is ended.
    #[serde(default = "timeout")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u32,
}

pub(crate) fn here() -> String {
    ".".to_owned()
}

pub(crate) const fn timeout() -> u32 {
    300
}

/// What the runner found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectReturns {
    /// The program that did it; none for all projects.
    pub runner: Option<Runner>,
    /// What was started, as text.
    pub command: String,
    /// The runner's exit code; none in a preview, and where a signal ended it. Of all projects, the first that
    /// is not 0.
    pub exit_code: Option<i32>,
    /// Tests that passed; none where the runner does not say it.
    pub passed: Option<u64>,
    /// Tests that failed; none where the runner does not say it.
    pub failed: Option<u64>,
    /// The last 50 lines of standard output, at most 4 KiB.
    pub stdout_tail: String,
    /// The last 50 lines of standard error, at most 4 KiB.
    pub stderr_tail: String,
    /// The result of each project, where the target is all; else empty.
    pub projects: Vec<ProjectResult>,
}

/// The result of one of all projects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectResult {
    /// The name of the project.
    pub project: String,
    /// The program that did it; none where there is an error.
    pub runner: Option<Runner>,
    /// What was started, as text.
    pub command: String,
    /// The runner's exit code; none in a preview, and where a signal ended it.
    pub exit_code: Option<i32>,
    /// Tests that passed; none where the runner does not say it.
    pub passed: Option<u64>,
    /// Tests that failed; none where the runner does not say it.
    pub failed: Option<u64>,
    /// The last 50 lines of standard output, at most 4 KiB.
    pub stdout_tail: String,
    /// The last 50 lines of standard error, at most 4 KiB.
    pub stderr_tail: String,
    /// Why nothing was started; none where it was.
    pub error: Option<String>,
}

/// What a call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectTarget {
    /// One folder.
    One(DevicePath),
    /// Each project of the device's list, with its name.
    All(Vec<(String, DevicePath)>),
}

impl ProjectTarget {
    /// Reads a target: the name of a project, `all`, or a path.
    ///
    /// # Errors
    /// `INVALID_PATH`, and `INVALID_ARGUMENT` where the device has no workspace, or no projects for `all`.
    pub fn parse(target: &str, places: &Places) -> Result<Self, ToolError> {
        if let Some(folder) = places.projects.get(target) {
            return Ok(Self::One(folder.clone()));
        }
        if target != ALL_PROJECTS {
            return path(places, target).map(Self::One);
        }
        let all: Vec<_> =
            places.projects.iter().map(|(name, at)| (name.to_owned(), at.clone())).collect();
        if all.is_empty() {
            let message = "The owner of this device lists no projects, so `all` means none.";
            return Err(ToolError::new(ErrorCode::InvalidArgument, message)
                .hint("give the folder of the project as target"));
        }
        Ok(Self::All(all))
    }

    /// Returns the folders.
    fn folders(&self) -> Vec<&DevicePath> {
        match self {
            Self::One(folder) => vec![folder],
            Self::All(all) => all.iter().map(|(_, folder)| folder).collect(),
        }
    }
}

/// Returns what a task touches. Without a runner the programs are not known yet; the device evaluates the call
/// again when it knows them.
///
/// # Errors
/// As [`ProjectTarget::parse`] and [`Runner::commands`], and `INVALID_ARGUMENT` for a time that is out of bounds.
pub(crate) fn touches(
    task: Task,
    (target, runner, timeout): (&str, Option<Runner>, u32),
    places: &Places,
) -> Result<Touches, ToolError> {
    if !(1..=MAX_TIMEOUT_S).contains(&timeout) {
        let message = format!("`timeout` is between 1 and {MAX_TIMEOUT_S} seconds.");
        return Err(ToolError::new(ErrorCode::InvalidArgument, message));
    }
    let commands = runner.map(|runner| runner.commands(task)).transpose()?.unwrap_or_default();
    let mut touches = Touches::nothing();
    for folder in ProjectTarget::parse(target, places)?.folders() {
        let changed = Touches::path(folder.clone(), Access::Write);
        touches = touches.and(touches_of(&commands, folder, places)?).and(changed);
    }
    Ok(touches)
}

/// Returns why a call has its risk, with the line that it starts.
pub(crate) fn reasons(task: Task, runner: Option<Runner>) -> Vec<String> {
    let line = runner.and_then(|runner| runner.line(task));
    let first = match line {
        Some(line) => format!("It starts `{line}`."),
        None => "The files of the project say which program is started.".to_owned(),
    };
    vec![first, RUNS_PROJECT.to_owned()]
}

#[cfg(test)]
mod tests {
    use orion_commands::Effect;

    use super::*;

    #[test]
    fn the_grammar_knows_every_line_and_asks_about_none() {
        let mut lines = 0;
        for runner in Runner::ALL {
            for task in Task::ALL {
                let Some(line) = runner.line(task) else {
                    let error = runner.commands(task).unwrap_err();
                    assert_eq!(error.code, ErrorCode::InvalidArgument);
                    continue;
                };
                lines += 1;
                for command in runner.commands(task).unwrap() {
                    let known = command.understood();
                    let known = known.unwrap_or_else(|| panic!("{line}: {:?}", command.judgement));
                    let bounded = [Effect::Reads, Effect::Writes, Effect::RunsProject];
                    assert!(bounded.contains(&known.effect), "{line}");
                    assert!(!command.connects(false), "{line}");
                }
            }
        }
        assert_eq!(lines, 36);
    }

    #[test]
    fn a_target_is_a_project_all_projects_or_a_path() {
        let style = orion_domain::PathStyle::Posix;
        let named = [("backend", "/srv/app/api"), ("web", "/srv/app/web")];
        let places = Places {
            projects: orion_domain::Projects::parse(style, named).unwrap(),
            ..Places::parse(style, Some("/home/ann"), None).unwrap()
        };
        let folders = |target: &str, places: &Places| {
            let target = ProjectTarget::parse(target, places).map_err(|error| error.code)?;
            Ok(target.folders().iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        };
        for (target, expected) in [
            ("backend", "/srv/app/api"),
            ("all", "/srv/app/api /srv/app/web"),
            ("./backend", "/home/ann/backend"),
            ("./all", "/home/ann/all"),
            ("front", "/home/ann/front"),
            (".", "/home/ann"),
        ] {
            assert_eq!(folders(target, &places), Ok(expected.to_owned()), "{target}");
        }
        let none = Places::parse(style, Some("/home/ann"), None).unwrap();
        assert_eq!(folders("all", &none), Err(ErrorCode::InvalidArgument));
        let touched = touches(Task::Test, ("all", Some(Runner::Go), 1), &places).unwrap();
        let written = touched.paths.iter().filter(|it| it.access == Access::Write);
        let written: Vec<_> = written.map(|it| it.path.to_string()).collect();
        assert!(written.contains(&"/srv/app/api".to_owned()), "{written:?}");
        assert!(written.contains(&"/srv/app/web".to_owned()), "{written:?}");
        let folders: Vec<_> = touched.commands.iter().map(|it| it.folder.to_string()).collect();
        assert_eq!(folders, ["/srv/app/api", "/srv/app/web"], "a command in each");
    }

    #[test]
    fn every_task_has_a_runner_and_every_runner_a_task() {
        assert!(Task::ALL.iter().all(|task| Runner::ALL.iter().any(|it| it.line(*task).is_some())));
        assert!(Runner::ALL.iter().all(|it| Task::ALL.iter().any(|task| it.line(*task).is_some())));
        for runner in Runner::ALL {
            assert_eq!(serde_json::to_value(runner).unwrap(), runner.as_str());
        }
    }
}
