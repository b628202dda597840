//! The checks of programs, which find what `check_git`, `check_python` and `check_docker` find.

use super::Found;

#[cfg(target_os = "linux")]
mod asked {
    use orion_catalog::Tool as _;
    use orion_catalog::installed::InstalledProgram;
    use orion_catalog::tools::check_docker::{self, CheckDocker};
    use orion_catalog::tools::check_git::{self, CheckGit};
    use orion_catalog::tools::check_python::{self, CheckPython};
    use orion_catalog::tools::health_check::Status;
    use orion_domain::ToolError;

    use super::Found;
    use crate::call::Outcome;
    use crate::programs::CommandContext;
    use crate::tools::{AskingContext, CommandTool};

    fn command<'a>(context: &AskingContext<'a>) -> CommandContext<'a> {
        let AskingContext { common, programs, risk } = *context;
        CommandContext { common, programs, risk, output: None }
    }

    pub(crate) fn git(context: &AskingContext<'_>) -> Found {
        found(CheckGit::run(check_git::Arguments::default(), &command(context)))
    }

    pub(crate) fn python(context: &AskingContext<'_>) -> Found {
        found(CheckPython::run(check_python::Arguments::default(), &command(context)))
    }

    fn found(outcome: Result<Outcome<InstalledProgram>, ToolError>) -> Found {
        let outcome = outcome?;
        let status = match (outcome.data.installed, outcome.data.ok) {
            (false, _) => Status::Skipped,
            (true, false) => Status::Warn,
            (true, true) => Status::Ok,
        };
        Ok((status, outcome.message))
    }

    pub(crate) fn docker(context: &AskingContext<'_>) -> Found {
        let spec = orion_catalog::find(CheckDocker::NAME).map(|(spec, _)| spec);
        if !spec.is_some_and(|spec| context.risk.grants_tool(spec)) {
            return Ok((Status::Skipped, "check_docker is not granted.".to_owned()));
        }
        let outcome = CheckDocker::run(check_docker::Arguments::default(), &command(context))?;
        let status = match (outcome.data.installed, outcome.data.running) {
            (false, _) => Status::Skipped,
            (true, false) => Status::Warn,
            (true, true) => Status::Ok,
        };
        Ok((status, outcome.message))
    }
}

#[cfg(target_os = "linux")]
pub(super) use asked::{docker, git, python};

/// Says why no program is asked.
#[cfg(not(target_os = "linux"))]
pub(super) fn unconfined(_: &crate::tools::AskingContext<'_>) -> Found {
    use orion_catalog::tools::health_check::Status;

    let why = "Programs run on Linux only, where the kernel confines them.";
    Ok((Status::Skipped, why.to_owned()))
}

#[cfg(not(target_os = "linux"))]
pub(super) use self::{unconfined as docker, unconfined as git, unconfined as python};
