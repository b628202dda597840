//! Finds by its files which program does a task with a project.

use std::io::Read as _;

use cap_std::fs::{Dir, OpenOptions};
use orion_catalog::project::{Runner, Task};
use orion_domain::{ErrorCode, ToolError};
use serde_json::Value;

use crate::roots::{Located, Wanted, regular};

/// The most bytes of a file of the project that are read.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// What the files of a folder say.
struct Project<'a> {
    located: &'a Located,
    dir: &'a Dir,
}

/// Returns the program that does a task with the project in a folder.
///
/// # Errors
/// `DIRECTORY_NOT_FOUND`, and `PRECONDITION_FAILED` where no file says it.
pub(super) fn runner(task: Task, located: &Located) -> Result<Runner, ToolError> {
    if !located.is_folder() {
        return Err(Wanted::Directory.missing(&located.asked));
    }
    let project = Project { located, dir: &located.dir };
    let found = [project.rust(), project.go(), project.node(task), project.python(task)];
    let make = project.has("Makefile").then_some(Runner::Make);
    let mut found = found.into_iter().chain([make]).flatten();
    found.find(|runner| runner.line(task).is_some()).ok_or_else(|| {
        let folder = &located.asked;
        let message = format!("No file in {folder} says which program {}.", task.describe());
        ToolError::new(ErrorCode::PreconditionFailed, message)
            .with("attempted_path", folder.to_string())
            .hint("give the folder of the project as target, or name the runner")
    })
}

impl Project<'_> {
    /// Returns whether there is a file of this name. A link does not count.
    fn has(&self, name: &str) -> bool {
        self.dir.symlink_metadata(name).is_ok_and(|it| it.is_file())
    }

    /// Returns the text of a file. `None` for one that is missing, too large, or no text.
    fn read(&self, name: &str) -> Option<String> {
        let path = self.located.asked.join(name).ok()?;
        let options = &mut OpenOptions::new();
        let (file, _) = regular::open(self.dir, name, &path, options.read(true)).ok()?;
        let mut text = String::new();
        let length = file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).ok()?;
        (length as u64 <= MAX_FILE_BYTES).then_some(text)
    }

    fn rust(&self) -> Option<Runner> {
        self.has("Cargo.toml").then_some(Runner::Cargo)
    }

    fn go(&self) -> Option<Runner> {
        self.has("go.mod").then_some(Runner::Go)
    }

    fn node(&self, task: Task) -> Option<Runner> {
        let package: Value = serde_json::from_str(&self.read("package.json")?).ok()?;
        let manager = package["packageManager"].as_str().unwrap_or_default();
        let manager = if manager.starts_with("pnpm@") || self.has("pnpm-lock.yaml") {
            Runner::Pnpm
        } else if manager.starts_with("yarn@") || self.has("yarn.lock") {
            Runner::Yarn
        } else {
            Runner::Npm
        };
        let has_script = |name: &str| package["scripts"][name].is_string();
        let own = |name: &str, other| if has_script(name) { Some(manager) } else { other };
        match task {
            Task::Test => own("test", None),
            Task::Build => own("build", None),
            Task::Lint => own("lint", Some(Runner::Eslint)),
            Task::Typecheck => own("typecheck", self.has("tsconfig.json").then_some(Runner::Tsc)),
            Task::CheckFormat | Task::Format => Some(Runner::Prettier),
        }
    }

    fn python(&self, task: Task) -> Option<Runner> {
        let files = ["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "requirements.txt"];
        files.iter().find(|name| self.has(name))?;
        let uses_ruff = || {
            let settings = self.read("pyproject.toml").unwrap_or_default();
            self.has("ruff.toml") || self.has(".ruff.toml") || settings.contains("[tool.ruff")
        };
        match task {
            Task::Test => Some(Runner::Pytest),
            Task::Lint => Some(Runner::Ruff),
            Task::Typecheck => Some(Runner::Mypy),
            Task::CheckFormat | Task::Format => {
                Some(if uses_ruff() { Runner::Ruff } else { Runner::Black })
            }
            Task::Build => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use orion_domain::Access;

    use super::*;
    use crate::tools::testing::Device;

    fn found(files: &[(&str, &str)], task: Task) -> Result<Runner, ErrorCode> {
        let device = Device::new();
        for (name, text) in files {
            device.put(&format!("files/{name}"), text);
        }
        let folder = orion_catalog::tools::path(&device.places, ".").unwrap();
        runner(task, &device.roots.locate(&folder, Access::Read).unwrap()).map_err(|it| it.code)
    }

    #[test]
    fn the_files_of_a_project_say_which_program_does_what() {
        let scripts = r#"{"scripts": {"test": "x", "lint": "y"}}"#;
        for (files, task, expected) in [
            (&[("Cargo.toml", ""), ("Makefile", "")][..], Task::Test, Ok(Runner::Cargo)),
            (&[("Makefile", "")], Task::Test, Ok(Runner::Make)),
            (&[("package.json", scripts)], Task::Test, Ok(Runner::Npm)),
            (&[("package.json", scripts), ("yarn.lock", "")], Task::Lint, Ok(Runner::Yarn)),
            (&[("package.json", scripts), ("pnpm-lock.yaml", "")], Task::Test, Ok(Runner::Pnpm)),
            (
                &[("package.json", r#"{"packageManager": "yarn@4"}"#)],
                Task::Lint,
                Ok(Runner::Eslint),
            ),
            (&[("package.json", "{}"), ("Makefile", "")], Task::Build, Ok(Runner::Make)),
            (&[("package.json", "{}"), ("tsconfig.json", "")], Task::Typecheck, Ok(Runner::Tsc)),
            (&[("package.json", "{}")], Task::Format, Ok(Runner::Prettier)),
            (&[("package.json", "not JSON")], Task::Test, Err(ErrorCode::PreconditionFailed)),
            (&[("setup.py", "")], Task::Test, Ok(Runner::Pytest)),
            (&[("setup.py", "")], Task::CheckFormat, Ok(Runner::Black)),
            (&[("pyproject.toml", "[tool.ruff]")], Task::Format, Ok(Runner::Ruff)),
            (&[("go.mod", "")], Task::Typecheck, Ok(Runner::Go)),
            (&[("go.mod", "")], Task::Format, Err(ErrorCode::PreconditionFailed)),
            (&[("a.txt", "")], Task::Test, Err(ErrorCode::PreconditionFailed)),
        ] {
            assert_eq!(found(files, task), expected, "{files:?} {task:?}");
        }
    }

    #[test]
    fn a_link_is_no_file_of_the_project_and_a_large_file_is_not_read() {
        let device = Device::new();
        device.put("outside/package.json", r#"{"scripts": {"test": "x"}}"#);
        device.link("files/package.json", "../outside/package.json");
        device.link("files/Cargo.toml", "../outside/secret.txt");
        let folder = orion_catalog::tools::path(&device.places, ".").unwrap();
        let located = device.roots.locate(&folder, Access::Read).unwrap();
        assert!(runner(Task::Test, &located).is_err());
        let large = format!("{{\"scripts\": {{\"test\": \"{}\"}}}}", "x".repeat(2 << 20));
        assert!(found(&[("package.json", &large)], Task::Test).is_err());
    }
}
